package subbuf

import "fmt"

// DamageKind tells in what way bytes are not a sub-buffer that a kernel wrote.
type DamageKind uint8

// The kinds of damage. What follows the place of the damage within a sub-buffer
// cannot be read; what stands before it was read and is counted.
const (
	_ DamageKind = iota
	// CommitTooLong: the header claims more bytes of records (Found) than a
	// sub-buffer holds (Limit). Nothing of the sub-buffer can be read, nor
	// whether records were lost before it.
	CommitTooLong
	// RecordPastEnd: a record of Found bytes begins where Limit bytes are left
	// of what the header says there is.
	RecordPastEnd
	// RecordTooShort: a record says that it is Found bytes long, less than its
	// own header takes (Limit).
	RecordTooShort
	// RecordMisaligned: a discarded record's length (Found) is not a multiple
	// of 4, as every length that the kernel writes is.
	RecordMisaligned
	// NullPadding: the mark for "nothing more on this page" stands before the
	// end that the header says. The kernel writes it behind that end only.
	NullPadding
	// CountMisplaced: the header says that a count of lost records is stored,
	// where none can be. That records were lost stands; how many does not.
	CountMisplaced
	// PageCut: the stream ends Found bytes into a sub-buffer of Limit bytes,
	// and records of it are behind the cut.
	PageCut
	// Unreadable: sub-buffers of which no byte could be had, because the
	// compressed block that they are in is damaged. The reader that feeds a
	// [Summarizer] says so with [Summarizer.Gap].
	Unreadable
)

// Damage is a place in a stream of sub-buffers that cannot be read. It is an
// error when a single sub-buffer is taken apart, and an entry of a [Summary]
// when a stream is: there reading goes on behind it.
type Damage struct {
	Kind   DamageKind
	Page   int64  // number of the sub-buffer in its stream, from 0
	Offset int64  // of the sub-buffer (or of the compressed block that holds it) in the file
	At     int    // offset within the sub-buffer
	Found  uint64 // see Kind
	Limit  uint64 // see Kind
	// Records is how many records of this sub-buffer were read before the
	// damage.
	Records int
	// Bytes is how many bytes could not be read, 0 if only the count of lost
	// records is in doubt.
	Bytes int64
	// Pages is how many sub-buffers are unreadable, at least in part.
	Pages int64
	// After and Before bound the time of what could not be read: the stamp of
	// the last record before it and of the first one after it. Each is
	// meaningless where the Has field beside it is false.
	After, Before       uint64
	HasAfter, HasBefore bool
}

// Error says what is wrong and where.
func (d *Damage) Error() string {
	return fmt.Sprintf("sub-buffer %d at offset %d: %s", d.Page, d.Offset, d.What())
}

// What says what is wrong, without the place of the sub-buffer: what was found
// and what was expected.
func (d *Damage) What() string {
	after := fmt.Sprintf(" at byte %d, after %d records", d.At, d.Records)
	switch d.Kind {
	case CommitTooLong:
		return fmt.Sprintf("its header claims %d bytes of records, it holds at most %d; unreadable", d.Found, d.Limit)
	case RecordPastEnd:
		return fmt.Sprintf("a record of %d bytes%s, but only %d bytes are left", d.Found, after, d.Limit)
	case RecordTooShort:
		return fmt.Sprintf("a record of %d bytes%s, expected at least %d", d.Found, after, d.Limit)
	case RecordMisaligned:
		return fmt.Sprintf("a discarded record of length %d%s, expected a multiple of 4", d.Found, after)
	case NullPadding:
		return fmt.Sprintf("end-of-page padding%s, but the header says that %d more bytes of records follow", after, d.Bytes)
	case CountMisplaced:
		return fmt.Sprintf("its header says that a count of lost events follows %d bytes of records, where none can be (room ends at %d); lost events of unknown number", d.Found, d.Limit)
	case PageCut:
		return fmt.Sprintf("cut: %d of %d bytes are there; %d records read", d.Found, d.Limit, d.Records)
	case Unreadable:
		return fmt.Sprintf("%d sub-buffers cannot be had", d.Pages)
	}
	return "no damage"
}
