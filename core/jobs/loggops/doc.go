// Package loggops carries out a job on an ideal network, whose messages cost what the LogGOPS model says and disturb
// each other nowhere but at processors and NICs of their ranks.
package loggops
