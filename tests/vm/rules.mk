# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Debian's kernels in virtual machines. The fetched kernels are kept in build/vm, whatever B is.

VM_CACHE  ?= build/vm
VM_SERIES ?= 6.1 6.12
VM_FILES  := $(addprefix $(B)/tests/vm/,probe pass.bpf.o xfib-clang-19.bpf.o)

$(B)/tests/vm/probe: tests/vm/probe.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(ALL_CFLAGS) $< -o $@ $(SANFLAGS) -lbpf

$(B)/tests/vm/pass.bpf.o: tests/vm/pass.bpf.c
	@mkdir -p $(@D)
	@echo "  BPF     $<"
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

# The oldest verifier must take what the newest compiler makes of the programs.
$(B)/tests/vm/xfib-clang-19.bpf.o: bpf/xfib.bpf.c
	@mkdir -p $(@D)
	@echo "  BPF     $< (clang 19)"
	$(Q)clang-19 $(BPF_CFLAGS) -c $< -o $@

# Compiled here, not under emulation. Named in the recipe: the other rooms' variables are known then.
.PHONY: vm-files
vm-files: all $(VM_FILES)
	$(Q)$(MAKE) -s $(BPFTESTS) $(BPFTEST_OBJS) $(LOADERTESTS) $(NLTEST) \
		$(NLEVENTS) $(CLI_FIXTURE) $(CLI_TESTS)

.PHONY: check-vm-smoke
check-vm-smoke: vm-files ## the product on Debian's kernels 6.1 and 6.12, in qemu (3 minutes)
	$(Q)B='$(B)' VM_CACHE='$(VM_CACHE)' ROOMS='bpf' tests/vm/smoke.sh $(VM_SERIES)

# The rooms that ask the kernel something. Slower by an order of magnitude, so not in `make check`: a test of
# net takes ten seconds and more. NETFLAGS='-vv -k routes' reaches it.
VM_ROOMS ?= bpf loader netlink net cli
VM_ROOM_SECONDS ?= 5400
VM_SECONDS      ?= 7200

.PHONY: check-vm
check-vm: vm-files ## all rooms of tests on these kernels (long; VM_ROOMS='net', VM_SERIES='6.1')
	$(Q)B='$(B)' VM_CACHE='$(VM_CACHE)' VM_TIMEOUT=$(VM_SECONDS) CHECK_TIMEOUT=$(VM_ROOM_SECONDS) \
		ROOMS='$(VM_ROOMS)' tests/vm/smoke.sh $(VM_SERIES)
