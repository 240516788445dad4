//go:build slow

package main

// domainPart is how many of the points must be judged: half. domainAttempts is how often one is tried that the machine
// disturbs.
const (
	domainPart       = 0.5
	domainAttempts   = 3
	narrowDirections = "direction=[up, down, six]"
)
