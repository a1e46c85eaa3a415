package audit

import (
	"encoding/json"
	"fmt"
	"math/bits"
)

// Count is what is known of a quantity: that it lies between Lo and Hi,
// inclusive, in events unless the quantity says otherwise.
//
// The zero Count is proven none, [0,0]; nothing known is [Unknown]. Absent is
// never zero: code that has no evidence must start from Unknown.
type Count struct {
	Lo uint64
	Hi uint64 // meaningless if Open
	// Open says that there is no upper bound.
	Open bool
}

// Unknown is the Count of a quantity that nothing was said about: [0,∞).
func Unknown() Count { return Count{Open: true} }

// Exactly is [n,n].
func Exactly(n uint64) Count { return Count{Lo: n, Hi: n} }

// AtLeast is [n,∞).
func AtLeast(n uint64) Count { return Count{Lo: n, Open: true} }

// Between is [lo,hi].
func Between(lo, hi uint64) Count { return Count{Lo: lo, Hi: hi} }

// Exact tells whether the quantity is known to the event.
func (c Count) Exact() bool { return !c.Open && c.Lo == c.Hi }

// None tells whether the quantity is proven zero.
func (c Count) None() bool { return !c.Open && c.Hi == 0 }

// IsUnknown tells whether nothing at all is known.
func (c Count) IsUnknown() bool { return c.Open && c.Lo == 0 }

// Contains tells whether n is possible.
func (c Count) Contains(n uint64) bool { return n >= c.Lo && (c.Open || n <= c.Hi) }

// Plus is the Count of the sum of two independent quantities. A sum that does
// not fit 64 bits loses its upper bound, never wraps.
func (c Count) Plus(d Count) Count {
	lo, over := bits.Add64(c.Lo, d.Lo, 0)
	if over != 0 {
		return Count{Lo: ^uint64(0), Open: true}
	}
	hi, over := bits.Add64(c.Hi, d.Hi, 0)
	if c.Open || d.Open || over != 0 {
		return Count{Lo: lo, Open: true}
	}
	return Count{Lo: lo, Hi: hi}
}

// Minus is the Count of c−d, where the difference is known not to be negative.
// ok is false if it must be negative whatever the two are.
func (c Count) Minus(d Count) (_ Count, ok bool) {
	var r Count
	switch {
	case c.Open:
		r.Open = true
	case c.Hi < d.Lo:
		return Count{}, false
	default:
		r.Hi = c.Hi - d.Lo
	}
	if !d.Open && c.Lo > d.Hi {
		r.Lo = c.Lo - d.Hi
	}
	return r, true
}

// Intersect is what holds if both statements are true; ok is false if they
// cannot both be.
func (c Count) Intersect(d Count) (_ Count, ok bool) {
	r := Count{Lo: max(c.Lo, d.Lo)}
	switch {
	case c.Open && d.Open:
		r.Open = true
	case c.Open:
		r.Hi = d.Hi
	case d.Open:
		r.Hi = c.Hi
	default:
		r.Hi = min(c.Hi, d.Hi)
	}
	return r, r.Open || r.Lo <= r.Hi
}

// Hull is the smallest Count that holds all of both: one of them is true, and
// it is not known which.
func (c Count) Hull(d Count) Count {
	if c.Open || d.Open {
		return AtLeast(min(c.Lo, d.Lo))
	}
	return Between(min(c.Lo, d.Lo), max(c.Hi, d.Hi))
}

func (c Count) String() string {
	switch {
	case c.Exact():
		return fmt.Sprint(c.Lo)
	case c.IsUnknown():
		return "unknown"
	case c.Open:
		return fmt.Sprintf("at least %d", c.Lo)
	}
	return fmt.Sprintf("%d to %d", c.Lo, c.Hi)
}

type jsonCount struct {
	Lo uint64  `json:"lo"`
	Hi *uint64 `json:"hi,omitempty"`
}

// MarshalJSON writes {"lo":…,"hi":…}; a missing hi means no upper bound.
func (c Count) MarshalJSON() ([]byte, error) {
	j := jsonCount{Lo: c.Lo}
	if !c.Open {
		j.Hi = &c.Hi
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes. An interval that ends before it
// begins is an error.
func (c *Count) UnmarshalJSON(b []byte) error {
	var j jsonCount
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*c = Count{Lo: j.Lo, Open: j.Hi == nil}
	if j.Hi != nil {
		if c.Hi = *j.Hi; c.Hi < c.Lo {
			return fmt.Errorf("interval ends at %d, before it begins at %d", c.Hi, c.Lo)
		}
	}
	return nil
}
