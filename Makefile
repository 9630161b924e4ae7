# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# xfib: build, check, install. `make help` lists the targets. Everything generated lies under build/.

B       ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
VERSION := 0.1.0

CC      := gcc
CLANG   ?= clang
PKGS    := libbpf libxdp libmnl libevent jansson
ARCH     = $(shell $(CC) -print-multiarch)

ifneq ($(V),1)
Q := @
endif

# SAN=1: AddressSanitizer and UBSan, in a build directory of their own.
ifeq ($(SAN),1)
override B := $(B)/san
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

CFLAGS  ?= -O2 -g
ALL_CFLAGS := -std=gnu2x $(CFLAGS) $(SANFLAGS) -Wall -Wextra -Werror -Wmissing-prototypes \
	-Wno-unused-parameter -D_GNU_SOURCE -DXFIB_VERSION='"$(VERSION)"' \
	-Ibpf -Iuserspace -I. -MMD -MP
BPF_CFLAGS  = -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror -idirafter /usr/include/$(ARCH) -MMD -MP
LDLIBS  = $(shell pkg-config --libs $(PKGS))

COMMON  := $(wildcard userspace/common/*.c)
NETLINK := $(wildcard userspace/netlink/*.c)
MODEL   := $(wildcard userspace/model/*.c userspace/fib/*.c)
TRIE    := userspace/fib/trie.c userspace/fib/trie_read.c userspace/fib/slots.c userspace/model/rib.c
LOADER  := $(wildcard loader/*.c)
DAEMON  := $(wildcard userspace/daemon/*.c)
CLI     := $(wildcard userspace/cli/*.c)
objs     = $(patsubst %.c,$(B)/%.o,$(1))

.PHONY: all
all: $(B)/xfib $(B)/xfibd man ## build xfib and xfibd (the default)

# --- programs -----------------------------------------------------------------------------------

BPF_OBJS := $(B)/bpf/xfib.bpf.o $(B)/bpf/clock.bpf.o

.PHONY: bpf
bpf: $(BPF_OBJS) ## build the XDP programs

$(B)/bpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	@echo "  BPF     $<"
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@
	$(Q)llvm-strip -g $@ 2>/dev/null || true

$(B)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

# The objects are embedded as they are: loader/ opens them from memory. (bpftool's skeletons do not
# know the ".bss.NAME" sections of bpf/maps.h before version 7.2.)
$(B)/loader/objects.o: loader/objects.S $(BPF_OBJS)
	@mkdir -p $(@D)
	@echo "  AS      $<"
	$(Q)$(CC) -I$(B)/bpf -c $< -o $@

$(B)/xfibd: $(call objs,$(COMMON) $(NETLINK) $(MODEL) $(LOADER) $(DAEMON)) $(B)/loader/objects.o
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(LDLIBS) -lpthread

$(B)/xfib: $(call objs,$(COMMON) $(NETLINK) $(TRIE) $(LOADER) $(CLI)) $(B)/loader/objects.o
	@echo "  LD      $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(LDLIBS)

MANS := $(patsubst userspace/man/%.scd,$(B)/man/%,$(wildcard userspace/man/*.scd))

.PHONY: man
man: $(MANS) ## build the man pages

$(B)/man/%: userspace/man/%.scd
	@mkdir -p $(@D)
	@echo "  MAN     $@"
	$(Q)scdoc < $< > $@

include $(wildcard tests/*/rules.mk)

.PHONY: install
install: all ## install programs and man pages under DESTDIR and PREFIX
	install -D -m755 $(B)/xfib $(DESTDIR)$(PREFIX)/sbin/xfib
	install -D -m755 $(B)/xfibd $(DESTDIR)$(PREFIX)/sbin/xfibd
	install -d $(DESTDIR)$(PREFIX)/share/man/man8
	$(if $(MANS),install -m644 $(MANS) $(DESTDIR)$(PREFIX)/share/man/man8)

.PHONY: clean
clean: ## remove everything generated
	rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)
