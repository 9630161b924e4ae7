# Wider windows: some time passes wherever a packet goes on from one block to the next.
/^static __always_inline struct trie_memory trie_memory/i __noinline int trie_widen(int n) { for (int w = 0; w < 32; w++) n += bpf_ktime_get_ns(); return n; }
s/^\t__u64 at = XFIB_TRIE_OFFSET\(\*entry\);/&\n\ttrie_widen(0);/
s/^\treached = trie_reached\(keys, word\[0\]\);/\ttrie_widen(0);\n&\n\ttrie_widen(0);/
s/^\t\t\t__u32 len = skip->len & 63;/&\n\t\t\ttrie_widen(0);/
