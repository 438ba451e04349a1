// Runs cases through the automaton of Flink's own CEP library and prints what it finds; see record_flink_cases.py.
// Input, a line a case: tokens of the pattern | skip strategy | events (letter, number, @, time) | last time
// Output, a line a case: results of each event and of the end, separated by spaces.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.cep.configuration.SharedBufferCacheConfig;
import org.apache.flink.cep.nfa.NFA;
import org.apache.flink.cep.nfa.NFAState;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.nfa.compiler.NFACompiler;
import org.apache.flink.cep.nfa.sharedbuffer.SharedBuffer;
import org.apache.flink.cep.nfa.sharedbuffer.SharedBufferAccessor;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.WithinType;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;

public class FlinkCases {
    static String[] tokens;
    static int at;

    static class Letters extends SimpleCondition<String> {
        final String wanted;

        Letters(String wanted) {
            this.wanted = wanted;
        }

        @Override
        public boolean filter(String event) {
            return wanted.indexOf(event.charAt(0)) >= 0;
        }
    }

    // The number of the event is greater than those of all events that another pattern has.
    static class Above extends IterativeCondition<String> {
        final String name;

        Above(String name) {
            this.name = name;
        }

        @Override
        public boolean filter(String event, Context<String> ctx) throws Exception {
            for (String other : ctx.getEventsForPattern(name)) {
                if (number(event) <= number(other)) {
                    return false;
                }
            }
            return true;
        }

        static int number(String event) {
            return Integer.parseInt(event.substring(1));
        }
    }

    static AfterMatchSkipStrategy skip(String text) {
        String[] parts = text.split(":");
        switch (parts[0]) {
            case "next":
                return AfterMatchSkipStrategy.skipToNext();
            case "past":
                return AfterMatchSkipStrategy.skipPastLastEvent();
            case "first":
                return AfterMatchSkipStrategy.skipToFirst(parts[1]);
            case "last":
                return AfterMatchSkipStrategy.skipToLast(parts[1]);
            default:
                return AfterMatchSkipStrategy.noSkip();
        }
    }

    @SuppressWarnings("unchecked")
    static Pattern<String, String> pattern(AfterMatchSkipStrategy skip) {
        Pattern<String, String> p = null;
        while (at < tokens.length) {
            String[] t = tokens[at++].split(":");
            switch (t[0]) {
                case ")": return p;
                case "begin": p = Pattern.<String>begin(t[1], skip); break;
                case "begin(": p = Pattern.begin(pattern(AfterMatchSkipStrategy.noSkip()), skip); break;
                case "next": p = p.next(t[1]); break;
                case "next(": p = p.next(pattern(skip)); break;
                case "followed_by": p = p.followedBy(t[1]); break;
                case "followed_by(": p = p.followedBy(pattern(skip)); break;
                case "followed_by_any": p = p.followedByAny(t[1]); break;
                case "followed_by_any(": p = p.followedByAny(pattern(skip)); break;
                case "not_next": p = p.notNext(t[1]); break;
                case "not_followed_by": p = p.notFollowedBy(t[1]); break;
                case "where": p = p.where(new Letters(t[1])); break;
                case "or": p = p.or(new Letters(t[1])); break;
                case "above": p = p.where(new Above(t[1])); break;
                case "until": p = p.until(new Letters(t[1])); break;
                case "times": p = p.times(Integer.parseInt(t[1])); break;
                case "times_in": p = p.times(Integer.parseInt(t[1]), Duration.ofMillis(Long.parseLong(t[2]))); break;
                case "range": p = p.times(Integer.parseInt(t[1]), Integer.parseInt(t[2])); break;
                case "times_or_more": p = p.timesOrMore(Integer.parseInt(t[1])); break;
                case "one_or_more": p = p.oneOrMore(); break;
                case "one_or_more_in": p = p.oneOrMore(Duration.ofMillis(Long.parseLong(t[1]))); break;
                case "optional": p = p.optional(); break;
                case "greedy": p = p.greedy(); break;
                case "consecutive": p = p.consecutive(); break;
                case "allow_combinations": p = p.allowCombinations(); break;
                case "within": p = p.within(Duration.ofMillis(Long.parseLong(t[1]))); break;
                case "within_previous":
                    p = p.within(Duration.ofMillis(Long.parseLong(t[1])), WithinType.PREVIOUS_AND_CURRENT);
                    break;
                default: throw new IllegalArgumentException(t[0]);
            }
        }
        return p;
    }

    static KeyedStateStore store() {
        return (KeyedStateStore) Proxy.newProxyInstance(
                FlinkCases.class.getClassLoader(),
                new Class<?>[] {KeyedStateStore.class},
                (proxy, method, arguments) -> mapState());
    }

    static Object mapState() {
        Map<Object, Object> map = new HashMap<>();
        return Proxy.newProxyInstance(
                FlinkCases.class.getClassLoader(),
                new Class<?>[] {MapState.class},
                (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "get": return map.get(arguments[0]);
                        case "put": return map.put(arguments[0], arguments[1]);
                        case "putAll": map.putAll((Map<?, ?>) arguments[0]); return null;
                        case "remove": map.remove(arguments[0]); return null;
                        case "contains": return map.containsKey(arguments[0]);
                        case "keys": return map.keySet();
                        case "values": return map.values();
                        case "entries": return map.entrySet();
                        case "iterator": return map.entrySet().iterator();
                        case "isEmpty": return map.isEmpty();
                        case "clear": map.clear(); return null;
                        default: throw new UnsupportedOperationException(method.getName());
                    }
                });
    }

    static String shown(Map<String, List<String>> match) {
        List<String> parts = new ArrayList<>();
        match.forEach((name, events) -> parts.add(name + "=" + String.join(",", events)));
        return String.join(";", parts);
    }

    static String run(String line) throws Exception {
        String[] fields = line.split("\\|");
        tokens = fields[0].trim().split(" ");
        at = 0;
        AfterMatchSkipStrategy skip = skip(fields[1].trim());
        NFA<String> nfa = NFACompiler.compileFactory(pattern(skip), true).createNFA();
        NFAState state = nfa.createInitialNFAState();
        SharedBuffer<String> buffer =
                new SharedBuffer<>(store(), StringSerializer.INSTANCE, new SharedBufferCacheConfig());
        List<String> out = new ArrayList<>();
        try {
            for (String event : fields[2].trim().split(" ")) {
                String[] parts = event.split("@");
                long time = Long.parseLong(parts[1]);
                advance(nfa, state, buffer, time, skip, out);
                try (SharedBufferAccessor<String> accessor = buffer.getAccessor()) {
                    for (Map<String, List<String>> match :
                            nfa.process(accessor, state, parts[0], time, skip, () -> time)) {
                        out.add(time + "!" + shown(match));
                    }
                }
            }
            advance(nfa, state, buffer, Long.parseLong(fields[3].trim()), skip, out);
        } finally {
            buffer.releaseCacheStatisticsTimer();
        }
        return String.join(" ", out);
    }

    static void advance(
            NFA<String> nfa, NFAState state, SharedBuffer<String> buffer, long time, AfterMatchSkipStrategy skip,
            List<String> out) throws Exception {
        try (SharedBufferAccessor<String> accessor = buffer.getAccessor()) {
            Tuple2<Collection<Map<String, List<String>>>, Collection<Tuple2<Map<String, List<String>>, Long>>> result =
                    nfa.advanceTime(accessor, state, time, skip);
            for (Map<String, List<String>> match : result.f0) {
                out.add(time + "!" + shown(match));
            }
            for (Tuple2<Map<String, List<String>>, Long> match : result.f1) {
                out.add(match.f1 + "?" + shown(match.f0));
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String result;
            try {
                result = run(line);
            } catch (Exception error) {
                result = "error " + error;
            }
            System.out.println(result.replace("\n", " "));
        }
        System.exit(0);
    }
}
