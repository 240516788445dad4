//go:build slow

package main

// domainPart is how many of the points must be judged: half.
const domainPart = 0.5
