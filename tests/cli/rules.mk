# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The command line: against tables that are filled by hand, and against a running daemon.

CLI_FIXTURE := $(B)/tests/cli/fixture
CLI_TESTS   := $(patsubst %.c,$(B)/%,$(wildcard tests/cli/*_test.c))
CLI_TABLES  := userspace/cli/tables.c userspace/cli/lpm.c userspace/cli/trie.c

$(CLI_FIXTURE): $(call objs,tests/cli/fixture.c $(COMMON) $(TRIE) $(LOADER)) $(B)/loader/objects.o
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(LDLIBS)

.SECONDARY: $(CLI_TESTS:=.o)
$(B)/tests/cli/packet_test: $(B)/userspace/cli/packet.o
$(B)/tests/cli/lpm_test $(B)/tests/cli/trie_test: $(call objs,$(CLI_TABLES) $(TRIE))
$(B)/tests/cli/%_test: $(B)/tests/cli/%_test.o $(call objs,$(COMMON))
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(shell pkg-config --libs cmocka libbpf) $(CLI_WRAP)

# lpm_test deletes under the walk.
$(B)/tests/cli/lpm_test: CLI_WRAP := -Wl,--wrap=bpf_map_lookup_batch

.PHONY: check-cli
check-cli: $(B)/xfib $(B)/xfibd $(CLI_FIXTURE) $(CLI_TESTS) ## words, JSON keys and exit codes of xfib (root)
	$(Q)for t in $(CLI_TESTS); do $$t || exit 1; done
	$(Q)B='$(abspath $(B))' /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/cli
