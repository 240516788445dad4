//go:build !slow

package main

// However few points the machine allows at the first attempt, those are judged, and the test is skipped if there are
// none; a narrow domain is crossed in one direction. The slow suite tries three times, wants half, and has all
// directions.
const (
	domainPart       = 0
	domainAttempts   = 1
	narrowDirections = "direction=up"
)
