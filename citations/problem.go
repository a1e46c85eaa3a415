package citations

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// State is what the gate says of one record in one tree, or of one place in a
// document.
type State string

// The states of references and assertions.
const (
	OK          State = "ok"           // as expected; context as in the lock
	Moved       State = "moved"        // same text and context, other line
	MovedSymbol State = "moved-symbol" // found in another function, structure or macro
	MovedFile   State = "moved-file"   // found in another file of the tree
	Context     State = "context"      // anchor there, lines around it changed
	Changed     State = "changed"      // symbol there, anchor not
	Ambiguous   State = "ambiguous"    // more matches than expected
	Gone        State = "gone"         // path or symbol absent
	Unparsed    State = "unparsed"     // looks like a citation, cannot be read
	Unresolved  State = "unresolved"   // tree, revision or file not to be had
	NotInRange  State = "not-in-range" // since and until exclude this version
	OutOfRange  State = "range"        // since and until exclude this version, and the tree contradicts them
	Refuted     State = "refuted"      // an assertion that is not true of the tree
	NotLocked   State = "not-locked"   // with Options.Locked: the lock lacks it
	Stale       State = "stale"        // with Options.Locked: the lock is not up to date
)

// The states of documents.
const (
	NoRecord   State = "no-record"   // a marker without a record
	Unused     State = "unused"      // a record that no marker points at
	Universal  State = "universal"   // a universal word that no assertion backs
	Unmarked   State = "unmarked"    // a claim in prose without a marker
	LineCited  State = "line-cited"  // a path:line in prose, which nothing checks
	Nothing    State = "nothing"     // not one citation
	Fewer      State = "fewer"       // fewer citations than the lock has
	Expired    State = "expired"     // a baseline entry past its date
	StaleEntry State = "stale-entry" // a baseline entry that nothing needs any more
	LongAnchor State = "long-anchor" // an anchor longer than it need be
)

// StateDoc is what a state means and what to do about it, for help, SARIF rules
// and documentation.
type StateDoc struct {
	State State
	Means string
	Do    string
}

// StateDocs documents every state.
var StateDocs = []StateDoc{
	{OK, "The anchor stands where it is expected, as often as expected, and the lines around it are those of the lock.", ""},
	{Moved, "The same text with the same lines around it stands on another line than the lock says.", "cite check --fix writes the new line to the lock."},
	{MovedSymbol, "The anchor stands in another function, structure or macro than the record or the lock says.", "Read the place, then correct symbol (or remove it) in the refs file."},
	{MovedFile, "The anchor stands in another file of the tree.", "Correct path, or add a [[references.in]] for the versions that have it there."},
	{Context, "The anchor is there, but lines around it changed since a person last read them.", "Read the place, then: cite confirm ID --reason …"},
	{Changed, "The file and symbol are there, the anchor is not.", "Read the nearest line, decide whether the sentence still holds, then write a new anchor."},
	{Ambiguous, "The anchor stands in more places than count says.", "Take the longer anchor that is proposed, name the symbol, or raise count."},
	{Gone, "The file or the symbol is not in the tree.", "Say since/until, add a [[references.in]], or remove the claim."},
	{Unparsed, "It looks like a citation and cannot be read.", "Correct it as the message says."},
	{Unresolved, "The tree, revision or file is not to be had, so nothing was proven.", "Give the tree that the message asks for."},
	{NotInRange, "since and until of the record exclude this version.", ""},
	{OutOfRange, "The tree contradicts since or until: the text stands in a version that the range excludes.", "Correct since or until, or choose an anchor that is new in that version."},
	{Refuted, "The assertion is not true of the tree.", "Correct the sentence, or the assertion if it does not say what the sentence says."},
	{NotLocked, "The lock holds nothing for this record in this version.", "cite check --fix for a new record, cite bump --to VERSION for a new version."},
	{Stale, "The lock is not what a fresh one would be.", "cite check --fix"},
	{NoRecord, "A marker in the prose has no record in the refs file.", "Write the record, or remove the marker."},
	{Unused, "No marker in the prose points at this record.", "Point at it from the sentence it proves, or remove it."},
	{Universal, "A sentence says only, never, always, every, exactly one or the like, and no assertion backs it. A quoted line proves that the line exists, never that a sentence about all lines is true.", "Write an assertion and its marker, or weaken the sentence."},
	{Unmarked, "A sentence names kernel code and has no marker.", "Add a marker if the sentence claims something about Linux."},
	{LineCited, "A path with a line number stands in the prose. Nothing checks it, and line numbers move with every release.", "Make it a reference and point at that."},
	{Nothing, "Not one citation was checked, which proves nothing.", "Check that the document and its refs file are the ones meant."},
	{Fewer, "Fewer citations are checked than the lock has. A citation that vanishes is how a gate goes blind.", "Bring it back; if it was removed on purpose: cite check --fix --fewer"},
	{Expired, "An entry of the baseline is past its date, so it excuses nothing any more.", "Repair what it excused."},
	{StaleEntry, "An entry of the baseline excuses more than there is. A baseline may only shrink.", "Lower count, or remove the entry (cite check --fix does)."},
	{LongAnchor, "The anchor is longer than about 100 characters; the shortest text that identifies the place drifts least.", "Shorten the anchor."},
}

// Doc is the documentation of s.
func (s State) Doc() StateDoc {
	for _, d := range StateDocs {
		if d.State == s {
			return d
		}
	}
	return StateDoc{State: s}
}

// Severity is how much a problem weighs.
type Severity string

const (
	Error   Severity = "error"   // the gate fails
	Warning Severity = "warning" // worth a look; the gate passes
	Note    Severity = "note"
)

// Severity is the weight of s.
func (s State) Severity() Severity {
	switch s {
	case OK, NotInRange, Unmarked, LineCited, LongAnchor:
		return Note
	case Moved:
		return Warning
	}
	return Error
}

// Place is a line of a file in a tree, or of a document. Line and Col count
// from 1, columns in characters; 0 means unknown.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
	// Version is the tree's, empty for a document.
	Version string `json:"version,omitempty"`
	// Symbol is the function, structure or macro around the line.
	Symbol string `json:"symbol,omitempty"`
	// Text is what the line says, white space folded.
	Text string `json:"text,omitempty"`
}

func (p Place) String() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
		if p.Col > 0 {
			s += fmt.Sprintf(":%d", p.Col)
		}
	}
	return s
}

// Problem is one thing that the gate has to say.
type Problem struct {
	State    State    `json:"state"`
	Severity Severity `json:"severity"`
	ID       string   `json:"id,omitempty"` // of the record
	// At is the place in the document (the marker), or in the refs file where
	// no marker is known.
	At      Place  `json:"at"`
	Message string `json:"message"`
	// Proposal is what to do, with the candidates or the difference, in lines.
	Proposal string `json:"proposal,omitempty"`
	// Related are the places in the tree, best first.
	Related []Place `json:"related,omitempty"`
	Version string  `json:"version,omitempty"` // of the tree
	// Reason is why the baseline excuses this problem, empty if it does not.
	Excused string `json:"excused,omitempty"`
	// Fingerprint is the same in every run as long as document, record and
	// state are, wherever the lines are.
	Fingerprint string `json:"fingerprint"`
}

// fingerprint hashes parts of a problem that do not move with lines.
func fingerprint(parts ...string) string {
	h := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(h[:8])
}
