# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Counts the stores of hit marks, instead of making them.
s/hits\[slot\] = now;/hits[slot]++;/
