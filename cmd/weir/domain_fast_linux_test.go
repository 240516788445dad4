//go:build !slow

package main

// Of the points as many must be judged as this machine allows at the first attempt, and a narrow domain is crossed in
// one direction. The slow suite tries three times, wants half, and has all directions.
const (
	domainPart       = 0
	domainAttempts   = 1
	narrowDirections = "direction=up"
)
