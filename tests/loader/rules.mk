# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Pins, attachments and generations, in private network namespaces: needs root and a BPF file system.

LOADER_TEST_WRAP := -Wl,--wrap=bpf_obj_pin,--wrap=bpf_link_update

$(B)/tests/loader/loader_test: $(B)/tests/loader/loader_test.o $(call objs,$(COMMON) $(LOADER)) $(B)/loader/objects.o
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(LOADER_TEST_WRAP) $(shell pkg-config --libs cmocka libbpf libxdp libmnl)

.PHONY: check-loader
check-loader: $(B)/tests/loader/loader_test ## instances, attaching, generations (root)
	$(Q)$<
