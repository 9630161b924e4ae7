# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The parser of netlink/ against any bytes, by libFuzzer under ASan and UBSan. corpus/ was written by
# corpus.py; what a run finds beyond it stays in the build directory.

FUZZ_SECONDS ?= 60
FUZZER       := $(B)/tests/fuzz/parse_fuzz
FUZZ_SOURCES := tests/fuzz/parse_fuzz.c $(wildcard userspace/netlink/parse*.c) userspace/common/addr.c
FUZZ_FOUND   := $(B)/tests/fuzz/found

$(FUZZER): $(FUZZ_SOURCES) $(wildcard userspace/netlink/*.h userspace/common/*.h)
	@mkdir -p $(@D)
	@echo "  FUZZ    $@"
	$(Q)$(CLANG) -std=gnu2x -O1 -g -D_GNU_SOURCE -Iuserspace -Wall -Wextra -Werror \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		$(FUZZ_SOURCES) -o $@

.PHONY: fuzz check-fuzz
fuzz: $(FUZZER) ## search for bytes that break the parser, for FUZZ_SECONDS
	@mkdir -p $(FUZZ_FOUND)
	$(Q)$(FUZZER) -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 \
		-artifact_prefix=$(B)/tests/fuzz/ $(FUZZ_FOUND) tests/fuzz/corpus

# The corpus, and the same mutations of it every time.
check-fuzz: $(FUZZER) ## the fuzzer's corpus and a fixed number of mutations
	$(Q)rm -rf $(B)/tests/fuzz/scratch && mkdir -p $(B)/tests/fuzz/scratch
	$(Q)if $(FUZZER) -seed=1 -runs=200000 -artifact_prefix=$(B)/tests/fuzz/ \
		$(B)/tests/fuzz/scratch tests/fuzz/corpus >$(B)/tests/fuzz/log 2>&1; \
	then echo "fuzz: 1 passed, 0 failed"; \
	else tail -n 60 $(B)/tests/fuzz/log; echo "fuzz: 0 passed, 1 failed"; exit 1; fi
