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
