// Package loggops runs a job on an ideal network. Messages have the costs of the LogGOPS model, and interfere only at
// the processors and NICs of their ranks.
package loggops
