# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The command line against tables that are filled by hand: no daemon runs.

CLI_FIXTURE := $(B)/tests/cli/fixture

$(CLI_FIXTURE): $(call objs,tests/cli/fixture.c $(COMMON) $(LOADER)) $(B)/loader/objects.o
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: check-cli
check-cli: $(B)/xfib $(CLI_FIXTURE) ## words, JSON keys and exit codes of xfib (root)
	$(Q)B='$(abspath $(B))' /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/cli
