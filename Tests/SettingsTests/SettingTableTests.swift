import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct SettingTableTests {
    @Test func everyRowIsReached() {
        // What is only declared and in none of the lists would be a setting that nobody can set.
        let rows = Mirror(reflecting: SettingTable.rows).children.compactMap { $0.value as? any Setting }
        #expect(rows.count == Mirror(reflecting: SettingTable.rows).children.count)
        for row in rows {
            let isOption = row.option != nil && Option.all.contains { $0.long == row.option?.long }
            let isOfSources = SettingTable.ofSources.contains { $0.setting === row }
            #expect(isOption || isOfSources)
        }
        #expect(Set(SettingTable.ofSources.map(\.setting.name)).count == SettingTable.ofSources.count)
    }
}
