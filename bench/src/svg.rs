//! Plots with logarithmic axes, as SVG: small, readable on light and on dark backgrounds.

use std::fmt::Write as _;

use retake_engine::model::format_count;

const PLOT_WIDTH: f64 = 780.0;
const PLOT_HEIGHT: f64 = 400.0;
const LEFT_MARGIN: f64 = 64.0;
const RIGHT_MARGIN: f64 = 270.0;
const TOP_MARGIN: f64 = 40.0;
const BOTTOM_MARGIN: f64 = 48.0;
const LINE_COLOURS: [&str; 8] =
    ["#2f81f7", "#e5534b", "#3fb950", "#d29922", "#a371f7", "#39c5cf", "#db61a2", "#848d97"];

/// One line of a plot.
pub(crate) struct PlotLine {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A scale whose ends are powers of ten.
struct LogScale {
    low: i32,
    high: i32,
    from: f64,
    to: f64,
}

impl LogScale {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| *value > 0.0) {
            (low, high) = (low.min(value.log10()), high.max(value.log10()));
        }
        if !low.is_finite() {
            (low, high) = (0.0, 1.0);
        }
        let low = (low + 1e-9).floor() as i32;
        Self { low, high: ((high - 1e-9).ceil() as i32).max(low + 1), from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let (low, high) = (f64::from(self.low), f64::from(self.high));
        self.from + (value.log10() - low) / (high - low) * (self.to - self.from)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        (self.low..=self.high).map(|power| 10_f64.powi(power))
    }
}

/// Draws lines over a common axis; the values are times in milliseconds.
pub(crate) fn plot(title: &str, axis: &str, lines: &[PlotLine]) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let across =
        LogScale::over(points().map(|point| point.0), LEFT_MARGIN, PLOT_WIDTH - RIGHT_MARGIN);
    let up = LogScale::over(points().map(|point| point.1), PLOT_HEIGHT - BOTTOM_MARGIN, TOP_MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {PLOT_WIDTH} {PLOT_HEIGHT}\" role=\"img\">\n\
         <title>{title}</title>\n\
         <style>text{{font:12px sans-serif;fill:#57606a}}.g{{stroke:#57606a;stroke-opacity:.25}}\
         @media(prefers-color-scheme:dark){{text{{fill:#9ea7b3}}.g{{stroke:#9ea7b3}}}}</style>\n\
         <text x=\"{LEFT_MARGIN}\" y=\"20\" font-weight=\"bold\">{title}</text>\n"
    );
    frame(&mut svg, axis, &across, &up);
    let mut names: Vec<(f64, usize)> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        draw(&mut svg, line, LINE_COLOURS[number % LINE_COLOURS.len()], &across, &up);
        names.extend(line.points.last().map(|last| (up.place(last.1), number)));
    }
    label(&mut svg, lines, names);
    svg + "</svg>\n"
}

fn frame(svg: &mut String, axis: &str, across: &LogScale, up: &LogScale) {
    let (bottom, end) = (PLOT_HEIGHT - BOTTOM_MARGIN, PLOT_WIDTH - RIGHT_MARGIN);
    for tick in across.ticks() {
        let x = across.place(tick);
        let _ = writeln!(
            svg,
            "<path class=\"g\" d=\"M{x:.1} {TOP_MARGIN}V{bottom}\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 16.0,
            number(tick)
        );
    }
    for tick in up.ticks() {
        let y = up.place(tick);
        let _ = writeln!(
            svg,
            "<path class=\"g\" d=\"M{LEFT_MARGIN} {y:.1}H{end}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT_MARGIN - 6.0,
            y + 4.0,
            number(tick)
        );
    }
    let middle = f64::midpoint(LEFT_MARGIN, end);
    let _ = writeln!(
        svg,
        "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{axis}</text>\
         <text x=\"8\" y=\"{TOP_MARGIN}\">ms</text>",
        PLOT_HEIGHT - 12.0
    );
}

fn draw(svg: &mut String, line: &PlotLine, colour: &str, across: &LogScale, up: &LogScale) {
    let places = line.points.iter().map(|(x, y)| (across.place(*x), up.place(*y)));
    let path: Vec<String> = places.clone().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    let _ = writeln!(
        svg,
        "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        path.join("L")
    );
    for (x, y) in places {
        let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
    }
}

/// Names at the ends of the lines, moved apart where they would lie on each other.
fn label(svg: &mut String, lines: &[PlotLine], mut names: Vec<(f64, usize)>) {
    names.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut free = TOP_MARGIN;
    for (y, number) in names {
        let y = y.max(free);
        free = y + 15.0;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" style=\"fill:{}\">{}</text>",
            PLOT_WIDTH - RIGHT_MARGIN + 10.0,
            y + 4.0,
            LINE_COLOURS[number % LINE_COLOURS.len()],
            lines[number].name
        );
    }
}

fn number(value: f64) -> String {
    if value < 1.0 { format!("{value}") } else { format_count(value as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_goes_from_power_to_power() {
        let scale = LogScale::over([500.0, 100_000.0].into_iter(), 0.0, 300.0);
        assert_eq!((scale.low, scale.high), (2, 5));
        assert!((scale.place(100.0)).abs() < 1e-9 && (scale.place(100_000.0) - 300.0).abs() < 1e-9);
        assert!((scale.place(1000.0) - 100.0).abs() < 1e-9);
        assert_eq!(scale.ticks().count(), 4);
        let name = "Retake".to_owned();
        let line = PlotLine { name, points: vec![(100.0, 2.0), (1e6, 3.0)] };
        let svg = plot("Time", "changes", &[line]);
        assert!(svg.contains(">1,000,000</text>") && svg.contains(">Retake</text>"));
        assert_eq!(svg.matches("<circle").count(), 2);
    }
}
