/* What a ring is. */
#ifndef RING_H
#define RING_H

#define RING_HEADER_BYTES	(sizeof(long) + 8)

struct ring {
	unsigned long	written;
	unsigned long	thrown_away;
	int		overwrite;
};

void ring_write(struct ring *ring, int value);

#endif
