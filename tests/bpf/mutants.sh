#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Do the tests notice? For each mutant below: the program is built with that one change, and the tests
# of this directory run on it until one fails (killed) or all pass (survived: a test is missing). A
# mutant that the kernel's verifier refuses is killed by it. Run by hand: `make mutants`, some minutes, or
# `make mutants ONLY=REGEX` for those that match.
# Exit code 1 if any survived.
set -u

cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
tests='golden boundary multipath table trie'
engines='lpm trie trie4 trie6'
BPF_CC="$BPF_CC -w" # a mutant may leave a variable unused

mutants() {
	cat <<-'END'
	parse.h    s/d_hi != own_hi \|\| d_lo != own_lo/d_hi != own_hi/
	parse.h    s/d_hi != own_hi \|\| d_lo != own_lo/d_lo != own_lo/
	parse.h    s/d_hi != own_hi \|\| d_lo != own_lo/0/
	parse.h    s/d\[0\] & 1 \?/d[0] \& 2 ?/
	parse.h    s/s\[0\] & 1 \|\| //
	parse.h    s/ \|\| !\(s_hi \| s_lo\)//
	parse.h    s/!\(s_hi \| s_lo\)/!s_hi/
	parse.h    s/ \|\| \(s_hi == own_hi && s_lo == own_lo\)//
	parse.h    s/s_hi == own_hi && s_lo == own_lo/s_hi == own_hi/
	parse.h    s/return f->len > ETH_HLEN \+ f->l3_len && /return /
	parse.h    s/f->len > ETH_ZLEN/f->len >= ETH_ZLEN/
	parse.h    s/f->len > ETH_ZLEN/f->len > ETH_ZLEN + 1/
	parse.h    s/ && f->len > ETH_ZLEN//
	parse.h    s/\+ w\[3\] \+ w\[4\]/+ w[3]/
	parse.h    s/return sum == 0xffff/return true/
	parse.h    s/return sum == 0xffff/return sum >= 0xfffe/
	parse.h    s/sum = \(sum & 0xffffffff\) \+ \(sum >> 32\)/sum = sum \& 0xffffffff/
	parse.h    s/ip->version != 4 \|\| ip->ihl < 5/ip->version != 4/
	parse.h    s/ip->version != 4 \|\| ip->ihl < 5/ip->ihl < 5/
	parse.h    s/if \(ip->ihl > 5\)/if (ip->ihl > 6)/
	parse.h    s/f->l3_len < sizeof\(\*ip\) \|\| //
	parse.h    s/f->l3_len < sizeof\(\*ip\)/f->l3_len <= sizeof(*ip)/
	parse.h    s/sizeof\(\*ip\) \|\| f->l3_len > f->len - ETH_HLEN/sizeof(*ip) || f->l3_len > f->len/
	parse.h    s/sizeof\(\*ip\) \|\| f->l3_len > f->len - ETH_HLEN/sizeof(*ip) || f->l3_len >= f->len - ETH_HLEN/
	parse.h    s/if \(!ip4_checksum_ok\(ip\)\)/if (0)/
	parse.h    s/ip->ttl <= 1/ip->ttl < 1/
	parse.h    s/ip->ttl <= 1/ip->ttl == 1/
	parse.h    s/ip->ttl <= 1/ip->ttl <= 2/
	parse.h    s/src >> 24 == 0 \|\| //
	parse.h    s/src >> 24 == 127 \|\| //
	parse.h    s/src >> 24 >= 224/src >> 28 == 14/
	parse.h    s/src >> 24 >= 224/src >> 24 > 224/
	parse.h    s/dst >> 24 == 0 \|\| //
	parse.h    s/dst >> 24 == 127 \|\| //
	parse.h    s/dst >> 24 >= 224/dst >> 28 == 14/
	parse.h    s/ \|\| dst >> 16 == 0xa9fe//
	parse.h    s/dst >> 16 == 0xa9fe/dst >> 24 == 0xa9/
	parse.h    s/f->in->flags & XFIB_L3IF_DEFRAG4 && //
	parse.h    s/f->in->flags & XFIB_L3IF_DEFRAG4 &&/false \&\&/
	parse.h    s/frag_off & bpf_htons\(0x3fff\)\)/frag_off \& bpf_htons(0x1fff))/
	parse.h    s/frag_off & bpf_htons\(0x3fff\)\)/frag_off \& bpf_htons(0x2000))/
	parse.h    s/f->in->flags & XFIB_L3IF_DEFRAG6 && //
	parse.h    s/nexthdr == IPPROTO_FRAGMENT \|\| //
	parse.h    s/nexthdr == IPPROTO_ROUTING \|\| //
	parse.h    s/ \|\| nexthdr == IPPROTO_DSTOPTS//
	parse.h    s/nexthdr == IPPROTO_AH;/false;/
	parse.h    s/return has_trailer\(f\) \? XFIB_PUNT_TRAILER : XFIB_FORWARDED/return XFIB_FORWARDED/
	parse.h    s/!a\[2\] \|\| a\[2\] == bpf_htonl\(0xffff\)/!a[2]/
	parse.h    s/!a\[2\] \|\| a\[2\] == bpf_htonl\(0xffff\)/a[2] == bpf_htonl(0xffff)/
	parse.h    s/!\(a\[0\] \| a\[1\]\)/!a[0]/
	parse.h    s/!\(a\[0\] \| a\[1\]\)/!a[1]/
	parse.h    s/payload \+ sizeof\(\*ip\)/payload/
	parse.h    s/ip->version != 6 \|\| //
	parse.h    s/ \|\| !payload//
	parse.h    s/!payload \|\| f->l3_len > f->len - ETH_HLEN/!payload || f->l3_len > f->len/
	parse.h    s/ip->hop_limit <= 1/ip->hop_limit < 1/
	parse.h    s/ip->hop_limit <= 1/ip->hop_limit == 1/
	parse.h    s/if \(ip->nexthdr == 0\)/if (0)/
	parse.h    s/src_hi >> 24 == 0xff \|\| //
	parse.h    s/ \|\| src_hi >> 22 == 0xfe80 >> 6//
	parse.h    s/src_hi >> 22 == 0xfe80 >> 6/src_hi >> 23 == 0xfe80 >> 7/
	parse.h    s/ \|\| ip6_embeds_ip4\(src\)//
	parse.h    s/dst_hi >> 24 == 0xff \|\| //
	parse.h    s/dst_hi >> 23 == 0xfe80 >> 7/dst_hi >> 22 == 0xfe80 >> 6/
	parse.h    s/ \|\| ip6_embeds_ip4\(dst\)//
	rewrite.h  s/check \+ \(check >= 0xffff\)/check/
	rewrite.h  s/check >= 0xffff/check > 0xffff/
	rewrite.h  s/bpf_htons\(0x0100\)/bpf_htons(0x0001)/
	rewrite.h  s/ip->ttl--;//
	rewrite.h  s/ip->hop_limit--;//
	rewrite.h  s/memcpy\(f->eth->h_source, adj->egress->mac/memcpy(f->eth->h_source, f->in->mac/
	rewrite.h  s/memcpy\(f->eth->h_source, adj->egress->mac, ETH_ALEN\)/memcpy(f->eth->h_source, adj->egress->mac, 4)/
	rewrite.h  s/memcpy\(f->eth->h_dest, adj->lladdr.mac, ETH_ALEN\)/memcpy(f->eth->h_dest, adj->lladdr.mac, 4)/
	fib4.h     s/\.fib = fib/.fib = 2/
	fib4.h     s/XFIB_LPM_FIB_BITS \+ 32/XFIB_LPM_FIB_BITS + 24/
	fib6.h     s/\.fib = fib/.fib = 2/
	fib6.h     s/XFIB_LPM_FIB_BITS \+ 128/XFIB_LPM_FIB_BITS + 64/
	nexthop.h  s/leaf \? leaf : XFIB_NH_DEFAULT\(fib, ip6\)/leaf ? leaf : XFIB_NH_DEFAULT(fib, 0)/
	nexthop.h  s/leaf \? leaf : XFIB_NH_DEFAULT\(fib, ip6\)/leaf ? leaf : XFIB_NH_DEFAULT(0, ip6)/
	nexthop.h  s/return nh->kind == XFIB_NH_GROUP_L3 \|\| /return /
	nexthop.h  s/protocol == IPPROTO_UDP \|\| //
	nexthop.h  s/protocol == IPPROTO_SCTP \|\|/protocol == IPPROTO_ICMP ||/
	nexthop.h  s/\(const void \*\)\(ports \+ 1\) <= f->end/1/
	nexthop.h  s/\(__u64\)protocol << 32 \| \*ports/*ports/
	nexthop.h  s/\(__u64\)protocol << 32 \| \*ports/(__u64)protocol << 32 | (*ports \& 0xffff)/
	nexthop.h  s/ip->frag_off & bpf_htons\(0x3fff\)/ip->frag_off \& bpf_htons(0x1fff)/
	nexthop.h  s/ip->frag_off & bpf_htons\(0x3fff\)/ip->frag_off \& bpf_htons(0x2000)/
	nexthop.h  s/ip->frag_off & bpf_htons\(0x3fff\)/ip->frag_off/
	nexthop.h  s/hash_step\(cfg.hash_seed, \(__u64\)ip->saddr << 32 \| ip->daddr\)/hash_step(cfg.hash_seed, ip->daddr)/
	nexthop.h  s/hash_step\(cfg.hash_seed, \(__u64\)ip->saddr << 32 \| ip->daddr\)/hash_step(0, (__u64)ip->saddr << 32 | ip->daddr)/
	nexthop.h  s/hash_step\(cfg.hash_seed, \(__u64\)s\[0\] << 32 \| s\[1\]\)/hash_step(0, (__u64)s[0] << 32 | s[1])/
	nexthop.h  s/hash = hash_step\(hash, \(__u64\)s\[2\] << 32 \| s\[3\]\);//
	nexthop.h  s/hash = hash_step\(hash, \(__u64\)d\[2\] << 32 \| d\[3\]\);//
	nexthop.h  s/bpf_htonl\(0xfffff\)/bpf_htonl(0xffff)/
	nexthop.h  s/hash \* group->count >> 32/hash * (group->count + 1u) >> 32/
	nexthop.h  s/group->arg \+ \(__u32\)/group->arg + 1 + (__u32)/
	nexthop.h  s/if \(!\(adj->lladdr.tag & XFIB_NEIGH_L3IF\)\)/if (!adj->lladdr.tag)/
	nexthop.h  s/adj->lladdr.tag & XFIB_NEIGH_L3IF\]/adj->lladdr.tag \& 0xfff]/
	nexthop.h  s/if \(adj->lladdr.tag & XFIB_NEIGH_WATCH\)/if (1)/
	nexthop.h  s/if \(adj->lladdr.tag & XFIB_NEIGH_WATCH\)/if (0)/
	nexthop.h  s/if \(\*hit != now\)/if (1)/
	nexthop.h  s/if \(\*hit != now\)/if (!*hit)/
	nexthop.h  s/bpf_jiffies64\(\) >> XFIB_HIT_SHIFT/bpf_jiffies64()/
	nexthop.h  s/n->addr\[0\] != addr \|\| //
	nexthop.h  s/addr \|\| n->ifindex != ifindex \|\| n->ip6/addr || n->ip6/
	nexthop.h  s/n->ifindex != ifindex \|\| n->ip6/n->ifindex != ifindex/
	nexthop.h  s/n->addr\[0\] != addr\[0\] \|\| //
	nexthop.h  s/n->addr\[1\] != addr\[1\] \|\| //
	nexthop.h  s/n->addr\[2\] != addr\[2\] \|\|$/0 ||/
	nexthop.h  s/n->addr\[3\] != addr\[3\] \|\| //
	nexthop.h  s/n->ifindex != ifindex \|\| !n->ip6/!n->ip6/
	nexthop.h  s/ \|\| !n->ip6\)/)/
	nexthop.h  s/if \(!\(adj->egress->flags & XFIB_L3IF_EGRESS\)\)/if (0)/
	nexthop.h  s/f->l3_len > mtu \|\| //
	nexthop.h  s/ \|\| f->l3_len > adj->mtu//
	nexthop.h  s/f->l3_len > mtu \|\|/f->l3_len >= mtu ||/
	nexthop.h  s/f->l3_len > mtu \|\|/f->l3_len > mtu + 1 ||/
	nexthop.h  s/f->l3_len > adj->mtu/f->l3_len >= adj->mtu/
	nexthop.h  s/adj->egress->ifindex == f->in->ifindex && !hairpin/0/
	nexthop.h  s/ == f->in->ifindex && !hairpin/ == f->in->ifindex/
	nexthop.h  s/f->multi && !\(adj->egress->flags & XFIB_L3IF_SG\)/f->multi/
	nexthop.h  s/f->multi && !\(adj->egress->flags & XFIB_L3IF_SG\)/0/
	nexthop.h  s/nh->kind != XFIB_NH_VERDICT \|\| //
	nexthop.h  s/nh->arg == XFIB_FORWARDED \|\| //
	nexthop.h  s/ \|\| nh->arg >= XFIB_VERDICT_MAX//
	nexthop.h  s/f->in->flags & \(XFIB_L3IF_RPF_LOOSE \| XFIB_L3IF_RPF_STRICT\)/f->in->flags \& XFIB_L3IF_RPF_LOOSE/
	nexthop.h  s/f->in->flags & \(XFIB_L3IF_RPF_LOOSE \| XFIB_L3IF_RPF_STRICT\)/f->in->flags \& XFIB_L3IF_RPF_STRICT/
	nexthop.h  s/if \(!\(f->in->flags & XFIB_L3IF_RPF_STRICT\)\)/if (1)/
	nexthop.h  s/if \(!\(f->in->flags & XFIB_L3IF_RPF_STRICT\)\)/if (0)/
	nexthop.h  s/return nh.arg == f->in->ifindex;/return true;/
	nexthop.h  s/tag & XFIB_NEIGH_L3IF\].ifindex == f->in->ifindex/tag \& XFIB_NEIGH_L3IF].ifindex/
	nexthop.h  s/nh.kind == XFIB_NH_ADJACENCY &&$//
	nexthop.h  s/if \(!\(own4\[bit >> 6 .*/if (1)/
	nexthop.h  s/if \(!\(own4\[bit >> 6 .*/if (0)/
	nexthop.h  s/nexthop_of_leaf\(fib4_lookup\(f->in->fib, addr\), f->in->fib, 0\).kind ==/1 ||/
	nexthop.h  s/return XFIB_PUNT_IP4_OWN_SOURCE;/;/
	nexthop.h  s/adj->egress->mtu6, false/adj->egress->mtu4, false/
	nexthop.h  s/adj->egress->mtu6, false/adj->egress->mtu6, f->in->flags \& XFIB_L3IF_HAIRPIN/
	nexthop.h  s/adj->egress->mtu4, f->in/adj->egress->mtu6, f->in/
	count.h    s/v->packets\+\+;//
	count.h    s/v->bytes \+= bytes;//
	count.h    s/t->packets\+\+;//
	count.h    s/t->bytes \+= bytes;//
	xfib.bpf.c s/if \(!\(u.port.flags & XFIB_PORT_ENABLED\)\)/if (0)/
	xfib.bpf.c s/!cfg.twin && u.port.ifindex != ctx->ingress_ifindex/0/
	xfib.bpf.c s/ports\[cfg.slot & /ports[1 \& /
	xfib.bpf.c s/bpf_jiffies64\(\)\) <= 0/bpf_jiffies64()) < -(1 << 30)/
	xfib.bpf.c s/f->multi = len != f->len;//
	xfib.bpf.c s/f->len = len;//
	xfib.bpf.c s/if \(!\(f->in->flags & XFIB_L3IF_IP4\)\)/if (0)/
	xfib.bpf.c s/if \(!\(f->in->flags & XFIB_L3IF_IP6\)\)/if (0)/
	xfib.bpf.c s/ \|\| ethertype == bpf_htons\(ETH_P_8021AD\)//
	xfib.bpf.c s/ethertype == bpf_htons\(ETH_P_8021Q\) \|\| //
	xfib.bpf.c s/ethertype == bpf_htons\(ETH_P_QINQ1\)/0/
	xfib.bpf.c s/__u32 slot = cfg.slot;/__u32 slot = 1;/
	xfib.bpf.c s/count_queue\(c, ctx->rx_queue_index\);//
	xfib.bpf.c s/rewrite_ip6\(&f\);//
	xfib.bpf.c s/count_tx\(c, adj.egress->port, f.len\);//
	xfib.bpf.c s/count_tx\(c, adj.egress->port/count_tx(c, f.in->port/
	xfib.bpf.c s/bpf_redirect_map\(&tx, adj->egress->port/bpf_redirect_map(\&tx, 63/
	xfib.bpf.c s/verdict == XFIB_DROP_BLACKHOLE \? XDP_DROP : XDP_PASS/XDP_PASS/
	xfib.bpf.c s/verdict == XFIB_DROP_BLACKHOLE \? XDP_DROP/verdict == XFIB_PUNT_BLACKHOLE ? XDP_DROP/
	trie.h     s/ip6 \? trie6 : trie4/trie4/
	trie.h     s/ip6 \? trie6 : trie4/trie6/
	trie.h     s/key->hi << bits \| key->lo >> \(64 - bits\)/key->hi << bits/
	trie.h     s/key->lo >> \(64 - bits\)/key->lo >> (63 - bits)/
	trie.h     s/key->lo <<= bits/key->lo <<= 1/
	trie.h     s/%0 &= 0xffff/%0 \&= 0x7fff/
	trie.h     s/boundaries\) >> 31/boundaries) >> 30/
	trie.h     s/>> 31 & 0x0000000100000001ull/>> 31 \& 1/
	trie.h     s/>> 31 & 0x0000000100000001ull/>> 31 \& 0x100000000ull/
	trie.h     s/\(hi >> 33\)/(hi >> 34)/
	trie.h     s/\(hi >> 33\) \* 0x0000000100000001ull/(hi >> 33)/
	trie.h     s/\| 0x8000000080000000ull, reached/, reached/
	trie.h     s/word\[0\]\)/word[1])/
	trie.h     s/word\[1\]\)/word[0])/
	trie.h     s/word\[2\]\)/word[1])/
	trie.h     s/word\[3\]\)/word[2])/
	trie.h     s/word\[4\]\)/word[3])/
	trie.h     s/if \(words > 1\)/if (words > 2)/
	trie.h     s/if \(words > 1\)/if (1)/
	trie.h     s/if \(words > 2\)/if (words > 3)/
	trie.h     s/if \(words > 2\)/if (1)/
	trie.h     s/if \(words > 3\)/if (words > 4)/
	trie.h     s/if \(words > 3\)/if (1)/
	trie.h     s/if \(words > 4\)/if (words > 5)/
	trie.h     s/if \(words > 4\)/if (1)/
	trie.h     s/i = \(\(__u32\)reached \+ /i = (/
	trie.h     s/ \+ \(__u32\)\(reached >> 32\)\) & 15/) \& 15/
	trie.h     s/reached >> 32\)\) & 15/reached >> 32)) \& 7/
	trie.h     s/\(words & 7\) \* 8/words * 4/
	trie.h     s/\* 8 \+ i \* 2/* 8 + i/
	trie.h     s/key->hi >> \(64 - XFIB_TRIE_BITS\(kind\)\)/key->hi >> (60 - XFIB_TRIE_BITS(kind))/
	trie.h     s/kind >= XFIB_TRIE_LEAVES/kind > XFIB_TRIE_LEAVES/
	trie.h     s/kind >= XFIB_TRIE_LEAVES/kind >= XFIB_TRIE_LEAVES - 1/
	trie.h     s/at \+ 2 \* i/at + 2 * (i ^ 1)/
	trie.h     s/at \+ 2 \* i/at + 4 * i/
	trie.h     s/at \+ 4 \* i/at + 4 * (i ^ 1)/
	trie.h     s/at \+ 4 \* i/at + 2 * i/
	trie.h     s/trie_key_shift\(key, XFIB_TRIE_BITS\(kind\)\)/trie_key_shift(key, 4)/
	trie.h     s/if \(\*entry & XFIB_TRIE_BLOCK\)/if (0)/
	trie.h     s/if \(\*entry & XFIB_TRIE_BLOCK\)/if (1)/
	trie.h     s/TRIE_STEPS = 34/TRIE_STEPS = 26/
	trie.h     s/trie_walk\(0, entry/trie_walk(1, entry/
	trie.h     s/trie_walk\(1, entry/trie_walk(0, entry/
	trie.h     s/trie_key\)\{ hi, lo \}/trie_key){ hi, 0 }/
	trie.h     s/trie_key\)\{ hi, 0 \}/trie_key){ 0, hi }/
	trie.h     s/ip6 \? trie_walk6\(entry, key.hi, key.lo\) : //
	trie.h     s/trie_walk6\(entry, key.hi, key.lo\)/trie_walk6(entry, key.hi, 0)/
	trie.h     s/trie_walk6\(entry, key.hi, key.lo\)/trie_walk6(entry, 0, key.lo)/
	trie.h     s/ : trie_walk4\(entry, key.hi\)/ : trie_walk6(entry, key.hi, 0)/
	trie.h     s/^\t\tif \(!\(entry & XFIB_TRIE_BLOCK\)\)/\t\tif (0)/
	trie.h     s/^\t\tif \(kind > XFIB_TRIE_RECORD\)/\t\tif (0)/
	trie.h     s/^\t\tif \(kind > XFIB_TRIE_RECORD\)/\t\tif (kind > XFIB_TRIE_RECORD + 1)/
	trie.h     s/^\t\tif \(kind == XFIB_TRIE_SKIP\)/\t\tif (0)/
	trie.h     s/skip->len & 63/skip->len \& 31/
	trie.h     s/\(key.hi \^ skip->bits\) >> \(64 - len\)/key.hi >> (64 - len)/
	trie.h     s/\(key.hi \^ skip->bits\) >> \(64 - len\)/(key.hi ^ skip->bits) >> (63 - len)/
	trie.h     s/\(key.hi \^ skip->bits\) >> \(64 - len\)/(key.hi ^ skip->bits) >> (65 - len)/
	trie.h     s/\(key.hi \^ skip->bits\) >> \(64 - len\)/0/
	trie.h     s/return trie_leaf\(skip->outside\)/return trie_leaf(0)/
	trie.h     s/&skip->inside/\&skip->outside/
	trie.h     s/trie_key_shift\(&key, len\)/trie_key_shift(\&key, len + 1)/
	trie.h     s/return trie_leaf\(XFIB_PUNT_RACE\)/return 0/
	trie.h     s/XFIB_TRIE_ROOT\(fib, ip6\)/XFIB_TRIE_ROOT(fib, 0)/
	trie.h     s/XFIB_TRIE_ROOT\(fib, ip6\)/XFIB_TRIE_ROOT(0, ip6)/
	trie.h     s/XFIB_TRIE_ROOTS - 1/XFIB_TRIE_ROOTS \/ 2 - 1/
	trie.h     s/^\tif \(!\(entry & XFIB_TRIE_BLOCK\)\)/\tif (0)/
	trie.h     s/^\t\tif \(XFIB_TRIE_KIND\(entry\) > XFIB_TRIE_RECORD\)/\t\tif (0)/
	trie.h     s/^\t\tif \(XFIB_TRIE_KIND\(entry\) == XFIB_TRIE_SKIP\)/\t\tif (0)/
	fib4.h     s/\(__u64\)bpf_ntohl\(addr\) << 32/(__u64)addr << 32/
	fib4.h     s/\(__u64\)bpf_ntohl\(addr\) << 32/bpf_ntohl(addr)/
	fib4.h     s/trie_lookup\(fib, 0/trie_lookup(fib, 1/
	fib4.h     s/trie_lookup\(fib, 0/trie_lookup(0, 0/
	fib4.h     s/cfg.trie_mask\[0\]/cfg.trie_mask[1]/
	fib4.h     s/cfg.trie_mask\[0\] \?/false ?/
	fib4.h     s/cfg.trie_mask\[0\] \?/true ?/
	fib6.h     s/bpf_ntohl\(addr\[0\]\) << 32/bpf_ntohl(addr[1]) << 32/
	fib6.h     s/\| bpf_ntohl\(addr\[1\]\)/| addr[1]/
	fib6.h     s/bpf_ntohl\(addr\[2\]\) << 32/bpf_ntohl(addr[3]) << 32/
	fib6.h     s/\| bpf_ntohl\(addr\[3\]\)//
	fib6.h     s/trie_lookup\(fib, 1/trie_lookup(fib, 0/
	fib6.h     s/trie_lookup\(fib, 1/trie_lookup(0, 1/
	fib6.h     s/cfg.trie_mask\[1\]/cfg.trie_mask[0]/
	fib6.h     s/cfg.trie_mask\[1\] \?/false ?/
	fib6.h     s/cfg.trie_mask\[1\] \?/true ?/
	END
}

# mutant 'FILE EDIT': prints what became of it.
mutant() {
	local file edit dir t engine noticed=false state=SURVIVED
	read -r file edit <<< "$1"
	dir=$(mktemp -d)
	echo "$edit" > "$dir/mutant.sed"
	cp "$B/tests/bpf/marks.bpf.o" "$dir"
	if ! tests/bpf/variant.sh "$dir/xfib.bpf.o" "$file" "$dir/mutant.sed" > "$dir/log" 2>&1; then
		state="BROKEN ($(grep -m 1 -E 'error:|finds nothing' "$dir/log"))"
	else
		[ "$file" = nexthop.h ] && tests/bpf/variant.sh "$dir/marks.bpf.o" "$file" "$dir/mutant.sed" \
			tests/bpf/marks.sed 2> /dev/null
		for t in $tests; do
			for engine in $engines; do
				ROUTER_ENGINE=$engine timeout 60 "$B/tests/bpf/${t}_test" "$dir/xfib.bpf.o" \
					"$B/bpf/clock.bpf.o" "$dir/marks.bpf.o" > "$dir/log" 2>&1 && continue
				noticed=true
				break
			done
			$noticed || continue
			state="killed by $t: $(grep '^\[  FAILED  \]' "$dir/log" | sed -n '1s/^\[  FAILED  \] //p')"
			grep -q 'cannot load' "$dir/log" && state="killed by the verifier"
			break
		done
	fi
	printf '%s\n    %s %s\n' "$state" "$file" "$edit"
	rm -rf "$dir"
}

export -f mutant
export B BPF_CC tests engines

log=$(mktemp)
trap 'rm -f "$log"' EXIT
mutants | grep -E -e "${ONLY:-.}" | xargs -d '\n' -P "$(nproc)" -I{} bash -c 'mutant "$1"' _ {} | tee "$log"
echo "$(grep -c '^    ' "$log") mutants: $(grep -c '^killed' "$log") killed, $(grep -c '^SURVIVED' "$log") survived," \
	"$(grep -c '^BROKEN' "$log") do not build"
! grep -qE '^(SURVIVED|BROKEN)' "$log"
