#include "ring.h"

void other_user(struct ring *ring)
{
	ring_write(ring, 4);
}
