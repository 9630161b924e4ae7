# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# demo: see xfib work, in three network namespaces.

.PHONY: demo
demo: all $(TRAFFIC) ## see it forward, in network namespaces of its own (needs root)
	$(Q)B=$(abspath $(B)) tests/demo/demo.sh
