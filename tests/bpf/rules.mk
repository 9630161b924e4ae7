# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The program itself, by BPF_PROG_TEST_RUN: needs root, no network and no device.

BPFTEST_COMMON := $(addprefix $(B)/tests/bpf/,pkt.o router.o expect.o)
BPFTESTS       := $(patsubst %.c,$(B)/%,$(filter-out %/publication_test.c,$(wildcard tests/bpf/*_test.c)))

$(BPFTESTS): $(B)/tests/bpf/%: $(B)/tests/bpf/%.o $(BPFTEST_COMMON) $(call objs,$(TRIE) $(COMMON))
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(shell pkg-config --libs cmocka libbpf)

# Variants: the same source with some lines changed, for what the program itself cannot show.
BPF_CC  := BPF_CC='$(CLANG) $(filter-out -MMD -MP,$(BPF_CFLAGS))'
variant-marks := marks.sed
variant-wide  := wide.sed
variant-nokey := wide.sed nokey.sed

$(B)/tests/bpf/%.bpf.o: tests/bpf/variant.sh $(wildcard bpf/*.[hc] tests/bpf/*.sed)
	@echo "  VARIANT $*"
	$(Q)$(BPF_CC) tests/bpf/variant.sh $@ nexthop.h $(addprefix tests/bpf/,$(variant-$*))

BPFTEST_OBJS = $(B)/bpf/xfib.bpf.o $(B)/bpf/clock.bpf.o $(B)/tests/bpf/marks.bpf.o

.PHONY: check-bpf
check-bpf: $(BPFTESTS) $(BPFTEST_OBJS) ## golden packets and tables through the XDP program (root)
	$(Q)for e in lpm trie; do for t in $(BPFTESTS); do ROUTER_ENGINE=$$e $$t $(BPFTEST_OBJS) || exit 1; done; done

# By hand: are the tests sharp? (BPF_CC: see variant.sh.)
.PHONY: mutants
mutants: $(BPFTESTS) $(BPFTEST_OBJS) $(EQUALITY) ## break the program in many ways and see that a test notices (root)
	$(Q)B='$(B)' $(BPF_CC) tests/bpf/mutants.sh

$(B)/tests/bpf/publication_test: $(addprefix $(B)/tests/bpf/,publication_test.o router.o pkt.o) $(call objs,$(TRIE) $(COMMON))
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(shell pkg-config --libs cmocka libbpf) -lpthread

PUBLICATION_OBJS = $(B)/bpf/xfib.bpf.o $(B)/tests/bpf/wide.bpf.o $(B)/tests/bpf/nokey.bpf.o

.PHONY: check-publication
check-publication: $(B)/tests/bpf/publication_test $(PUBLICATION_OBJS) ## tables that change under a reader, on two CPUs (root)
	$(Q)$< $(PUBLICATION_OBJS)

.PHONY: check-traps
check-traps: ## every trap of tests/TRAPS-COVERAGE.md has a test that exists, or a reason
	$(Q)tests/traps-coverage.sh
