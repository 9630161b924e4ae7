# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The program itself, by BPF_PROG_TEST_RUN: needs root, no network and no device.

BPFTEST_COMMON := $(addprefix $(B)/tests/bpf/,pkt.o router.o expect.o)
BPFTESTS       := $(patsubst %.c,$(B)/%,$(filter-out %/publication_test.c,$(wildcard tests/bpf/*_test.c)))

$(BPFTESTS): $(B)/tests/bpf/%: $(B)/tests/bpf/%.o $(BPFTEST_COMMON)
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(shell pkg-config --libs cmocka libbpf)

# Variants: the same source with one line changed, for what the program itself cannot show. Each is
# FILE and a sed expression; a source that it no longer fits fails the build.
BPF_CC = $(CLANG) $(filter-out -MMD -MP,$(BPF_CFLAGS))

# Counts the stores of hit marks, instead of making them.
variant-marks := nexthop.h 's/hits\[slot\] = now;/hits[slot]++;/'

$(B)/tests/bpf/%.bpf.o: tests/bpf/variant.sh tests/bpf/rules.mk $(wildcard bpf/*.[hc])
	@echo "  VARIANT $*"
	$(Q)BPF_CC='$(BPF_CC)' tests/bpf/variant.sh $(variant-$*) $@

BPFTEST_OBJS = $(B)/bpf/xfib.bpf.o $(B)/bpf/clock.bpf.o $(B)/tests/bpf/marks.bpf.o

.PHONY: check-bpf
check-bpf: $(BPFTESTS) $(BPFTEST_OBJS) ## golden packets and tables through the XDP program (root)
	$(Q)for t in $(BPFTESTS); do $$t $(BPFTEST_OBJS) || exit 1; done
