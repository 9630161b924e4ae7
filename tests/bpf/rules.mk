# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The program itself, by BPF_PROG_TEST_RUN: needs root, no network and no device.

BPFTEST_COMMON := $(addprefix $(B)/tests/bpf/,pkt.o router.o expect.o)
BPFTESTS       := $(patsubst %.c,$(B)/%,$(filter-out tests/bpf/publication_%,$(wildcard tests/bpf/*_test.c)))

$(BPFTESTS): $(B)/tests/bpf/%: $(B)/tests/bpf/%.o $(BPFTEST_COMMON) $(call objs,$(TRIE) $(COMMON))
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(shell pkg-config --libs cmocka libbpf)

# Variants: the same source with some lines changed, for what the program itself cannot show.
BPF_CC  := BPF_CC='$(CLANG) $(filter-out -MMD -MP,$(BPF_CFLAGS))'
variant-marks := marks.sed
variant-wide  := wide.sed
variant-nokey := wide.sed nokey.sed
variant-widetrie := widetrie.sed
variant-file = $(if $(filter widetrie,$*),trie.h,nexthop.h)

$(B)/tests/bpf/%.bpf.o: tests/bpf/variant.sh $(wildcard bpf/*.[hc] tests/bpf/*.sed)
	@echo "  VARIANT $*"
	$(Q)$(BPF_CC) tests/bpf/variant.sh $@ $(variant-file) $(addprefix tests/bpf/,$(variant-$*))

BPFTEST_OBJS = $(B)/bpf/xfib.bpf.o $(B)/bpf/clock.bpf.o $(B)/tests/bpf/marks.bpf.o

.PHONY: check-bpf
check-bpf: $(BPFTESTS) $(BPFTEST_OBJS) ## golden packets and tables through the XDP program (root)
	$(Q)for e in lpm trie trie4 trie6; do \
		for t in $(filter-out %/trie_test,$(BPFTESTS)); do ROUTER_ENGINE=$$e $$t $(BPFTEST_OBJS) || exit 1; done; \
	done
	$(Q)$(B)/tests/bpf/trie_test $(BPFTEST_OBJS)

# By hand: are the tests sharp? (BPF_CC: see variant.sh.)
.PHONY: mutants
mutants: $(BPFTESTS) $(BPFTEST_OBJS) ## break the program in many ways and see that a test notices (root)
	$(Q)B='$(B)' ONLY='$(ONLY)' $(BPF_CC) tests/bpf/mutants.sh

RACE_COMMON := $(addprefix $(B)/tests/bpf/,race.o router.o pkt.o)
RACES       := $(addprefix $(B)/tests/bpf/,publication_test publication_trie_test)

$(RACES): %: %.o $(RACE_COMMON) $(call objs,$(TRIE) $(COMMON))
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(shell pkg-config --libs cmocka libbpf) -lpthread

# The same with a writer that publishes blocks before it writes them.
RACE_SWAPPED := $(B)/tests/bpf/publication_trie_test-swapped

$(RACE_SWAPPED): tests/unit/swapped.sed userspace/fib/trie.c $(B)/tests/bpf/publication_trie_test.o $(RACE_COMMON) $(call objs,$(filter-out %/trie.c,$(TRIE)) $(COMMON))
	@echo "  LD      $@"
	$(Q)sed -f $< userspace/fib/trie.c > $@.c && ! cmp -s userspace/fib/trie.c $@.c
	$(Q)$(CC) $(ALL_CFLAGS) -iquote userspace/fib -o $@ $@.c $(filter %.o,$^) $(shell pkg-config --libs cmocka libbpf) -lpthread

PUBLICATION_OBJS = $(addprefix $(B)/tests/bpf/,wide.bpf.o nokey.bpf.o widetrie.bpf.o)

.PHONY: check-publication
check-publication: $(RACES) $(RACE_SWAPPED) $(B)/bpf/xfib.bpf.o $(PUBLICATION_OBJS) ## tables that change under a reader, on two CPUs (root)
	$(Q)$(B)/tests/bpf/publication_test $(B)/bpf/xfib.bpf.o $(B)/tests/bpf/wide.bpf.o $(B)/tests/bpf/nokey.bpf.o
	$(Q)$(B)/tests/bpf/publication_trie_test $(B)/bpf/xfib.bpf.o $(B)/tests/bpf/widetrie.bpf.o
	$(Q)$(RACE_SWAPPED) --swapped $(B)/bpf/xfib.bpf.o $(B)/tests/bpf/widetrie.bpf.o

.PHONY: check-traps
check-traps: ## every trap of tests/TRAPS-COVERAGE.md has a test that exists, or a reason
	$(Q)tests/traps-coverage.sh
