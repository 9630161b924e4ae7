# Publishes a block before it is written: a reader may meet what was there before.
/^static void store(struct trie/i\
static void store_swapped(struct trie *t, __u32 *at, __u32 entry)\
{\
	size_t size = is_block(entry) ? kind_bytes(XFIB_TRIE_KIND(entry)) : 0;\
	void *copy = malloc(size + 1);\
\
	memcpy(copy, block_at(t, entry), size);\
	memset(block_at(t, entry), 0, size);\
	__atomic_store_n(at, entry, __ATOMIC_RELEASE);\
	for (volatile int i = 0; size && i < 3000; i++)\
		;\
	memcpy(block_at(t, entry), copy, size);\
	free(copy);\
}\

s/__atomic_store_n(at, entry, __ATOMIC_RELEASE);/store_swapped(t, at, entry);/
