package tracedat

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/ringaudit/ringaudit/tracefs"
)

func sortedKeys[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }

func unitWord(u tracefs.Unit) string {
	if u == tracefs.Nanoseconds {
		return "nanoseconds"
	}
	return "something else than time"
}

// swap64 is v in the other byte order.
func swap64(v int64) int64 { return int64(bits.ReverseBytes64(uint64(v))) }
