# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bench-smoke: the kernel, its lookup helper and xfib side by side, a few routes, in network namespaces.
# bench-tables: a full table: time to mirror it, memory, differences. ROUTES4=, ROUTES6=: the size; TABLE=: from a file.

TRAFFIC := $(B)/tests/bench/traffic

$(B)/tests/bench/%.bpf.o: tests/bench/%.bpf.c
	@mkdir -p $(@D)
	@echo "  BPF     $<"
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(TRAFFIC): $(B)/tests/bench/traffic.o $(B)/tests/bench/traffic.bpf.o
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $< -lbpf

.PHONY: traffic
traffic: $(TRAFFIC)

.PHONY: bench-smoke
bench-smoke: all $(TRAFFIC) ## measure forwarding with a handful of routes against the kernel's (needs root)
	$(Q)B=$(abspath $(B)) /usr/bin/python3 tests/bench/smoke.py $(BENCHFLAGS)

.PHONY: bench-tables
bench-tables: all ## measure how fast a full Internet table is mirrored (needs root; ROUTES4=N ROUTES6=N TABLE=FILE)
	$(Q)B=$(abspath $(B)) /usr/bin/python3 tests/bench/tables.py $(BENCHFLAGS)
