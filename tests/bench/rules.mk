# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bench: what a lookup costs, every path side by side, correct answers first. BENCH=quick: under two minutes. TABLE=: from a file.
# bench-smoke: the kernel, its lookup helper and xfib side by side, a few routes, in network namespaces.
# bench-tables: a full table: time to mirror it, memory, differences. ROUTES4=, ROUTES6=: the size; TABLE=: from a file.

TRAFFIC := $(B)/tests/bench/traffic
LOOKUP  := $(addprefix $(B)/tests/bench/,lookup routes product.bpf.o floor.bpf.o parts.bpf.o others.bpf.o)

$(B)/tests/bench/%.bpf.o: tests/bench/%.bpf.c
	@mkdir -p $(@D)
	@echo "  BPF     $<"
	$(Q)$(CLANG) $(BPF_CFLAGS) -I. -Ibpf -c $< -o $@

$(TRAFFIC): $(B)/tests/bench/traffic.o $(B)/tests/bench/traffic.bpf.o
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $< -lbpf

$(B)/tests/bench/lookup: $(addprefix $(B)/tests/bench/,lookup.o lookup_bed.o memory.o) \
		$(call objs,$(COMMON) $(TRIE) $(LOADER)) $(B)/loader/objects.o
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(shell pkg-config --libs libbpf libxdp libmnl) -lpthread

$(B)/tests/bench/routes: $(B)/tests/bench/routes.o
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $< -lmnl

.PHONY: traffic
traffic: $(TRAFFIC)

.PHONY: bench
bench: all $(LOOKUP) ## measure lookups of every path, mode and table size (needs root; BENCH=quick, TABLE=FILE)
	$(Q)B=$(abspath $(B)) /usr/bin/python3 tests/bench/lookup.py $(BENCHFLAGS)

.PHONY: bench-smoke
bench-smoke: all $(TRAFFIC) ## measure forwarding with a handful of routes against the kernel's (needs root)
	$(Q)B=$(abspath $(B)) /usr/bin/python3 tests/bench/smoke.py $(BENCHFLAGS)

.PHONY: bench-tables
bench-tables: all ## measure how fast a full Internet table is mirrored (needs root; ROUTES4=N ROUTES6=N TABLE=FILE)
	$(Q)B=$(abspath $(B)) /usr/bin/python3 tests/bench/tables.py $(BENCHFLAGS)
