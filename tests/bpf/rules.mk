# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The program itself, by BPF_PROG_TEST_RUN: needs root, no network and no device.

BPFTEST_COMMON := $(addprefix $(B)/tests/bpf/,pkt.o router.o expect.o)
BPFTESTS       := $(patsubst %.c,$(B)/%,$(filter-out %/publication_test.c,$(wildcard tests/bpf/*_test.c)))

$(BPFTESTS): $(B)/tests/bpf/%: $(B)/tests/bpf/%.o $(BPFTEST_COMMON)
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(shell pkg-config --libs cmocka libbpf)

.PHONY: check-bpf
check-bpf: $(BPFTESTS) $(BPF_OBJS) ## golden packets and tables through the XDP program (root)
	$(Q)for t in $(BPFTESTS); do $$t $(BPF_OBJS) || exit 1; done
