# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# demo: see xfib work, in three network namespaces.

.PHONY: demo
demo: all $(TRAFFIC) ## see it forward, in network namespaces of its own (needs root)
	$(Q)B=$(abspath $(B)) tests/demo/demo.sh

.PHONY: check-demo
check-demo: all $(TRAFFIC) ## the demo, interrupted: nothing stays behind (root)
	$(Q)B='$(abspath $(B))' /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/demo
