// Package audit settles what the sources say of a trace's ring buffers against
// each other, and judges: what was lost, where, and how we know.
//
// Every source gives evidence: statements that some quantity, of some buffer,
// on some CPU, lies between two numbers ([Claim], [Count]). A [Ledger] a buffer
// intersects them and carries them through the identities that tie the
// quantities; an empty intersection is a contradiction, reported with both
// sides. [Rule] values turn what the ledger holds into findings, and the
// verdict follows from the ledger alone: lossy, complete, confirmed, or
// undetermined. Absent is never zero, unknown is never clean, and every verdict
// carries the kinds of loss that none of its sources could have shown.
package audit
