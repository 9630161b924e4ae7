# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The key of a neighbour slot is not compared: whatever the hash led to is taken.
s/if \(n->addr\[0\] != addr \|\| n->ifindex != ifindex \|\| n->ip6\)/if (n->ip6 > 1)/
s/if \(n->addr\[0\] != addr\[0\] \|\| n->addr\[1\] != addr\[1\] \|\| n->addr\[2\] != addr\[2\] \|\|/if (n->ip6 > 1)/
/^\t    n->addr\[3\] != addr\[3\]/d
