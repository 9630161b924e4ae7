# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The kernel's own messages, in private network namespaces: needs root.

NLTEST      := $(patsubst %.c,$(B)/%,$(wildcard tests/netlink/*_test.c))
NLEVENTS    := $(B)/tests/netlink/events
NLTEST_OBJS := $(call objs,$(COMMON) $(NETLINK))

$(NLTEST) $(NLEVENTS): $(B)/tests/netlink/%: $(B)/tests/netlink/%.o $(NLTEST_OBJS)
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(shell pkg-config --libs cmocka libmnl libbpf jansson)

.PHONY: check-netlink
check-netlink: $(NLTEST) $(NLEVENTS) ## dumps, notifications and questions against ip(8) (root)
	$(Q)failed=0; for t in $(NLTEST); do $$t || failed=1; done; \
	EVENTS=$(abspath $(NLEVENTS)) /usr/bin/python3 -m pytest -q -p no:cacheprovider \
		tests/netlink || failed=1; exit $$failed
