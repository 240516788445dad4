// Package schemelint finds silent mistakes in controllers and switch programs: a controller that reads telemetry and
// does not ask for it, a timer that is always due, a program that drops all packets, random numbers that do not come
// from the seed. It runs the beginning of the experiment with a few packets and observes what the schemes do, so that a
// scheme without such a mistake passes.
package schemelint
