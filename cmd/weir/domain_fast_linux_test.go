//go:build !slow

package main

// domainPart is how many of the points must be judged: as many as this machine allows. The slow suite wants half.
const domainPart = 0
