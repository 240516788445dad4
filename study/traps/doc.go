// Package traps finds mistakes in controllers and switch programs that nothing says: a controller that reads telemetry
// and asks for none, a timer that is always due, a program that drops everything, chance that is not the seed's. It
// asks the things themselves: the beginning of the experiment is carried out, with a few packets, and what they do is
// looked at. Whoever makes none of these mistakes is not accused of any.
package traps
