# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Debian's kernels in virtual machines. The fetched kernels are kept in build/vm, whatever B is.

VM_CACHE  ?= build/vm
VM_SERIES ?= 6.1 6.12

$(B)/tests/vm/probe: tests/vm/probe.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(ALL_CFLAGS) $< -o $@ $(SANFLAGS) -lbpf

.PHONY: check-vm-smoke
check-vm-smoke: bpf $(B)/tests/vm/probe ## the same on Debian's kernels 6.1 and 6.12, in qemu (3 minutes)
	$(Q)B='$(B)' VM_CACHE='$(VM_CACHE)' tests/vm/smoke.sh $(VM_SERIES)
