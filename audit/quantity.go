package audit

// Quantity is one of the numbers that the ledger keeps for each CPU of a
// buffer and for the buffer as a whole. All count events. The words are the
// kernel's own wherever it has one.
type Quantity uint8

const (
	// Attempted: calls that asked the ring for a record. No kernel counter says
	// it; an independent count (eBPF, a known workload) does.
	Attempted Quantity = iota
	// Written: records committed to the ring.
	Written
	// Kept: records still in the ring ("entries").
	Kept
	// Overwritten: records thrown away to make room ("overrun").
	Overwritten
	// Read: records that consuming readers took ("read events").
	Read
	// Dropped: requests refused because the ring was full with overwrite off
	// ("dropped events").
	Dropped
	// CommitOverrun: requests refused because nested writers lapped a commit
	// that was still open ("commit overrun").
	CommitOverrun
	// Uncounted: requests refused for a reason that the kernel counts nowhere.
	// It can be told only where Attempted is known.
	Uncounted
	// Lost: thrown away or refused by the kernel: Overwritten + Dropped +
	// CommitOverrun + Uncounted.
	Lost
	// Delivered: records that are in the capture at hand.
	Delivered
	// Missing: what that capture lacks of Attempted.
	Missing

	numQuantities
)

var quantityNames = [numQuantities]string{
	"attempted", "written", "kept", "overwritten", "read", "dropped",
	"commit_overrun", "uncounted", "lost", "delivered", "missing",
}

func (q Quantity) String() string { return quantityNames[q] }

// Total stands for the buffer as a whole where a CPU number is asked for.
const Total = -1
