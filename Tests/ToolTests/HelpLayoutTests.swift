#if Tool
import Testing
@testable import pagecache

@Suite("The layout of help on narrow terminals")
struct HelpLayoutTests {
    private let help = """
        OVERVIEW: Fetch pages.

        First sentence, and
        second sentence.

        EXAMPLES
          tool sync 'https://api.example.com/items'

        OPTIONS:
          --map                   Draw the list as a map.
          --header-file <file>
                                  Read headers from a file.
          -h, --help              Show this help.

        EXIT CODES
           0  done
          65  the store is damaged, or an answer is unusable
        """

    @Test("Descriptions move below their options, and those of short names stay in their column")
    func narrow() {
        #expect(
            HelpLayout.lines(help, width: 36) == [
                "OVERVIEW: Fetch pages.", "", "First sentence, and second sentence.", "", "EXAMPLES",
                "  tool sync", "      'https://api.example.com/items'", "", "OPTIONS:", "  --map",
                "      Draw the list as a map.", "  --header-file <file>", "      Read headers from a file.",
                "  -h, --help", "      Show this help.", "", "EXIT CODES", "   0  done",
                "  65  the store is damaged, or an", "      answer is unusable",
            ])
    }

    @Test("Every word stays whole, and only a word that is longer than a line exceeds it", arguments: 1...79)
    func words(width: Int) {
        let lines = HelpLayout.lines(help, width: width)
        #expect(lines.flatMap { $0.split(separator: " ") } == help.split { $0.isWhitespace })
        for line in lines where line.count > width {
            #expect(line.split(separator: " ").count == 1, "\(line)")
        }
    }
}
#endif
