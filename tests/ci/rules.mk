# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What a person or a CI runs first: deps, check, lint, format, help.

.PHONY: deps
deps: ## install the Debian packages that xfib is built and tested with (needs root)
	$(Q)tests/ci/deps.sh

# `make deps check` and the like: nothing is built before the packages are there.
ifneq ($(filter deps,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# Every check-ROOM of tests/*/rules.mk, these first, in this order; the virtual machines are apart.
CHECK_ORDER := check-unit check-bpf check-publication check-loader check-netlink check-net check-cli
CHECKS_ALL  := $(filter-out check-vm%,$(shell sed -n 's/^\(check-[a-z0-9-]*\):.*/\1/p' tests/*/rules.mk))
CHECKS      := $(filter $(CHECKS_ALL),$(CHECK_ORDER)) $(filter-out $(CHECK_ORDER),$(CHECKS_ALL))

# The publication test counts on plain speed, and the programs are not instrumented anyway.
ifeq ($(SAN),1)
CHECKS      := $(filter-out check-bpf check-publication,$(CHECKS))
endif

.PHONY: check
check: all ## run all tests but the virtual machines (SAN=1: with ASan and UBSan)
	$(Q)B='$(B)' MAKE='$(MAKE)' tests/ci/check.sh $(CHECKS)

.PHONY: lint
lint: ## look at licences, spelling, white space, scripts and format
	$(Q)tests/ci/lint.sh

.PHONY: format
format: ## format the .c files in place (headers are laid out by hand)
	$(Q)git ls-files "*.c" | xargs -r clang-format-14 -i

.PHONY: help
help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST) | sort
	@echo "  V=1 shows the commands, SAN=1 builds with sanitizers, B=DIR builds elsewhere,"
	@echo "  DESTDIR= and PREFIX= say where to install."
