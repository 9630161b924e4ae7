# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Rooms without a socket or a map: one cmocka program for each NAME_test.c, run without root.

UNITTESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/*_test.c))

# An archive, so that a test is linked with the rooms that it calls and no other.
$(B)/tests/unit/rooms.a: $(call objs,$(COMMON) $(NETLINK) $(MODEL))
	@mkdir -p $(@D)
	@echo "  AR      $@"
	$(Q)rm -f $@ && ar rcs $@ $^

# What several tests share: a naive kernel, maps in memory.
$(B)/tests/unit/helpers.a: $(call objs,$(filter-out %_test.c,$(wildcard tests/unit/*.c)))
	@mkdir -p $(@D)
	@echo "  AR      $@"
	$(Q)rm -f $@ && ar rcs $@ $^

$(UNITTESTS): $(B)/tests/unit/%: $(B)/tests/unit/%.o $(B)/tests/unit/helpers.a $(B)/tests/unit/rooms.a
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(shell pkg-config --libs cmocka libmnl)

.PHONY: check-unit
check-unit: $(UNITTESTS) ## parser, model and tables, without root
	$(Q)failed=0; for t in $(UNITTESTS); do $$t || failed=1; done; exit $$failed

# The race of trie_test notices when the order of publication, or the grace period, is broken.
TRIE_BROKEN := $(B)/tests/unit/trie_test-swapped $(B)/tests/unit/trie_test-nograce

$(TRIE_BROKEN): $(B)/tests/unit/trie_test-%: tests/unit/%.sed userspace/fib/trie.c $(B)/tests/unit/trie_test.o $(B)/tests/unit/rooms.a
	@echo "  LD      $@"
	$(Q)sed -f $< userspace/fib/trie.c > $@.c && ! cmp -s userspace/fib/trie.c $@.c
	$(Q)$(CC) $(ALL_CFLAGS) -iquote userspace/fib -o $@ $@.c $(filter %.o %.a,$^) $(shell pkg-config --libs cmocka)

.PHONY: check-trie-order
check-trie-order: $(B)/tests/unit/trie_test $(TRIE_BROKEN) ## a reader beside the writer, also with the order broken on purpose
	$(Q)CMOCKA_TEST_FILTER='a_reader*' $(B)/tests/unit/trie_test
	$(Q)for t in $(TRIE_BROKEN); do CMOCKA_TEST_FILTER='a_reader*' TRIE_WRONG=1 $$t || exit 1; done
