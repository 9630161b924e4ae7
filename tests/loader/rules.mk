# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Pins, attachments and generations, in private network namespaces: needs root and a BPF file system.

LOADERTESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/loader/*_test.c))

$(LOADERTESTS): $(B)/tests/loader/%: $(B)/tests/loader/%.o $(call objs,$(COMMON) $(TRIE) $(LOADER)) $(B)/loader/objects.o
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(LOADERTEST_WRAP) $(shell pkg-config --libs cmocka libbpf libxdp libmnl)

# Faults: a process killed at a pin, a refused update, an old kernel; and a process that must attach directly.
$(B)/tests/loader/loader_test: LOADERTEST_WRAP := \
	-Wl,--wrap=bpf_obj_pin,--wrap=bpf_link_update,--wrap=preflight_capable,--wrap=bpf_prog_test_run_opts,--wrap=uname
$(B)/tests/loader/dispatcher_test: LOADERTEST_WRAP := -Wl,--wrap=bpf_obj_pin

$(B)/tests/loader/spin.bpf.o: tests/loader/spin.bpf.c
	@mkdir -p $(@D)
	@echo "  BPF     $<"
	$(Q)$(CLANG) $(BPF_CFLAGS) -Wno-unused-parameter -c $< -o $@

.PHONY: check-loader
check-loader: $(LOADERTESTS) $(B)/tests/loader/spin.bpf.o $(B)/tests/vm/pass.bpf.o ## instances, attaching, generations (root)
	$(Q)$(B)/tests/loader/loader_test $(B)/tests/loader/spin.bpf.o
	$(Q)$(B)/tests/loader/dispatcher_test $(B)/tests/vm/pass.bpf.o
