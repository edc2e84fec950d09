package import Testing

extension Trait where Self == TimeLimitTrait {
    /// How long any test of a suite may take: one that hangs is named instead of taking the end of the log with it. All
    /// tests of a run begin at once and then wait for each other, so this is a bound for all of them together.
    package static var limited: Self { .timeLimit(.minutes(LongRun.isOn || ThreadSanitizer.isOn ? 60 : 20)) }
}
