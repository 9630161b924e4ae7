# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# equality: the compiled trie, the LPM trie, the XDP program and a naive model, on the same tables.

EQUALITY := $(B)/tests/equality/equality

$(EQUALITY): $(call objs,$(wildcard tests/equality/*.c) $(COMMON) $(TRIE))
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ -lbpf

.PHONY: check-equality equality-full
check-equality: $(EQUALITY) $(B)/bpf/xfib.bpf.o ## do all lookups agree? (root)
	$(Q)$< $(B)/bpf/xfib.bpf.o

equality-full: $(EQUALITY) $(B)/bpf/xfib.bpf.o ## the same for minutes (root; TABLE=FILE UPDATES=FILE CHURN=N)
	$(Q)$< --full $(if $(TABLE),--table $(TABLE)) $(if $(UPDATES),--updates $(UPDATES)) \
		$(if $(CHURN),--churn $(CHURN)) $(B)/bpf/xfib.bpf.o
