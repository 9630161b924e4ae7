# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# check-net: two routers in network namespaces, one with xfib, must do the same. Needs root.
# One file alone: tests/net/test_routes.py; one test: tests/net/test_routes.py -k replaced.

.PHONY: check-net
check-net: all ## compare two routers in network namespaces, one with xfib (needs root)
	$(Q)B=$(abspath $(B)) /usr/bin/python3 -m pytest -q -p no:cacheprovider $(NETFLAGS) tests/net
