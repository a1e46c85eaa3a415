package audit

// rules is every rule, in the order in which findings of equal severity are
// listed.
var rules = []*Rule{
	// loss
	ruleOverwrittenEvents, ruleDroppedEvents, ruleCommitOverrun, ruleUncountedLoss, ruleReaderLost, ruleUnknownSize, ruleFlightRecorder,
	// silence
	ruleBodySilent, ruleZeroMisread, ruleNoTotalInPipe,
	// contradiction
	ruleHeaderMismatch, ruleLinesEntries, rulePipeStats, ruleCPUStatPages, ruleAttemptedWritten, ruleEBPFWritten,
	ruleImpossible, ruleTornRead, ruleKnownBug,
	// geometry
	ruleSizeGranted, ruleUnexpanded, ruleMixedSizes, ruleMemoryCost,
	// coverage
	ruleNothingRecorded, ruleUnreadable, ruleDamaged, ruleTruncated, ruleRecorderLost, ruleIncomplete, ruleCPUWithoutData, ruleLateStart,
	ruleConsumed, ruleTimeBack, ruleOfflineHidden, ruleReset, ruleRebuilt, ruleApart, ruleForged,
	// probes
	ruleKprobeMissed, ruleKretprobeMissed, rulePairGap, ruleNotVisible,
	// ebpf
	ruleReserveFailed, ruleUnattributed, ruleRecursionMissed, ruleSequenceHole, ruleLogCut,
	// policy
	ruleSuppression,
}

// checks returns how each rule is looked for. It is a function and not a part of
// the rules because the checks emit findings of other rules as well.
func checks() map[*Rule]func(*Audit, *Rule) {
	return map[*Rule]func(*Audit, *Rule){
		ruleOverwrittenEvents: checkOverwritten,
		ruleDroppedEvents:     checkDropped,
		ruleCommitOverrun:     checkCommitOverrun,
		ruleUncountedLoss:     checkUncounted,
		ruleReaderLost:        checkReaderLost,
		ruleUnknownSize:       checkUnknownSize,
		ruleFlightRecorder:    checkFlightRecorder,
		ruleBodySilent:        checkBodySilent,
		ruleZeroMisread:       checkZeroMisread,
		ruleNoTotalInPipe:     checkNoTotal,
		ruleHeaderMismatch:    checkContradictions,
		ruleLinesEntries:      checkLines,
		rulePipeStats:         checkContradictions,
		ruleCPUStatPages:      checkContradictions,
		ruleAttemptedWritten:  checkContradictions,
		ruleEBPFWritten:       checkContradictions,
		ruleImpossible:        checkImpossible,
		ruleTornRead:          checkTorn,
		ruleKnownBug:          checkKnownBug,
		ruleSizeGranted:       checkSizeGranted,
		ruleUnexpanded:        checkUnexpanded,
		ruleMixedSizes:        checkMixedSizes,
		ruleMemoryCost:        checkMemoryCost,
		ruleNothingRecorded:   checkNothing,
		ruleUnreadable:        checkUnreadable,
		ruleDamaged:           checkDamaged,
		ruleTruncated:         checkTruncated,
		ruleRecorderLost:      checkRecorderLost,
		ruleIncomplete:        checkIncomplete,
		ruleCPUWithoutData:    checkCPUWithoutData,
		ruleLateStart:         checkLateStart,
		ruleConsumed:          checkConsumed,
		ruleTimeBack:          checkTimeBack,
		ruleOfflineHidden:     checkOfflineHidden,
		ruleReset:             checkReset,
		ruleRebuilt:           checkRebuilt,
		ruleApart:             checkApart,
		ruleForged:            checkForged,
		ruleKprobeMissed:      checkKprobeMissed,
		ruleKretprobeMissed:   checkKretprobeMissed,
		rulePairGap:           checkPairGap,
		ruleNotVisible:        checkNotVisible,
		ruleReserveFailed:     checkReserveFailed,
		ruleUnattributed:      checkUnattributed,
		ruleRecursionMissed:   checkRecursionMissed,
		ruleSequenceHole:      checkSequenceHole,
		ruleLogCut:            checkLogCut,
		ruleSuppression:       nil,
	}
}
