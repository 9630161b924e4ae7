/* SPDX-License-Identifier: GPL-2.0-only */
/* rodata of the program: set by the loader before loading, constants to the verifier and the JIT. */
#pragma once

#include "abi.h"

const volatile struct xfib_config cfg SEC(".rodata") = {};
