/*
 * A ring for tests.
 *
 * The writer never waits for the reader of this ring.
 */
#include "ring.h"

#define ring_for_each(i, ring) \
	for ((i) = 0; \
	     (i) < (ring)->written; \
	     (i)++)

static int ring_full(struct ring *ring)
{
	return ring->written > 100;
}

#ifdef CONFIG_RING_FAST
static void
ring_throw_away(struct ring *ring, int fast)
#else
static void
ring_throw_away(struct ring *ring)
#endif
{
	/* The oldest go first. */
	ring->thrown_away++;
	ring->written--;
}

void ring_write(struct ring *ring, int value)
{
	spin_lock(&ring->lock);
	if (ring_full(ring)) {
		if (!ring->overwrite)
			goto out;
		ring_throw_away(ring);
	}
	ring->written++;
out:
	spin_unlock(&ring->lock);
}

#if 0
void ring_old_write(struct ring *ring)
{
	ring->thrown_away = 77;
}
#endif

int ring_read(ring, value)
	struct ring *ring;
	int *value;
{
	if (!ring->written)
		return -1;
	*value = 1;
	return ring->written;
}

SYSCALL_DEFINE2(ring_stat, struct ring *, ring, char *, buffer)
{
	seq_printf(buffer, "written: %lu\n", ring->written);
	seq_printf(buffer, "thrown away: %lu\n",
		   ring->thrown_away);
	seq_printf(buffer, "a line of two "
		   "parts\n");
	return 0;
}

static const struct file_operations ring_fops = {
	.read = ring_read,
	.write = ring_write,
};

DEFINE_EVENT(ring_class, ring_lost,
	TP_PROTO(int n),
	TP_fast_assign(
		__entry->n = n;
	)
);
EXPORT_SYMBOL_GPL(ring_write);

static void ring_reset(struct ring *ring)
{
	WRITE_ONCE(ring->written, 0);
	local_set(&ring->thrown_away, 0);
	if (ring->written == 0 && local_read(&ring->thrown_away))
		return;
}
