# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Wider windows: some time passes wherever a packet goes on from one record to the next.
/^#define load_word/a static __always_inline void widen(void) { for (int w = 0; w < 32; w++) bpf_ktime_get_ns(); }
s/^\ti = \*\(const volatile __u32 \*\)slot/\twiden();\n&/
s/^\treturn neigh_load\(i, adj\)/\twiden();\n&/
s/^\tadj->egress = .*/&\n\twiden();/
